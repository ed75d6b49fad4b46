cat out/header.txt out/body.txt > out/page.txt
