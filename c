zeronorm checkpoint 1
