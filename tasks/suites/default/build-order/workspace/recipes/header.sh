tr a-z A-Z < src/title.txt > out/header.txt
