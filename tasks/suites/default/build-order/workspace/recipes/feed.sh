sed 's/^/feed: /' out/body.txt > out/feed.txt
