cat out/page.txt out/feed.txt > out/site.txt
