sed "s/@TITLE@/$(cat out/header.txt)/" src/body.txt > out/body.txt
