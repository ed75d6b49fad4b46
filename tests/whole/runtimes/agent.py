"""A small agent on the chat wire, with everything that agents written in Python use of their system."""

import asyncio, json, locale, multiprocessing, os, pwd, sqlite3, ssl, subprocess, sys, tempfile, time, urllib.request, zoneinfo


def ask(content):
    body = {"model": os.environ["BENCH_MODEL"], "messages": [{"role": "user", "content": content}], "tools": []}
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def square(x):
    return x * x


async def main():
    answer, _ = await asyncio.gather(asyncio.to_thread(ask, os.environ["BENCH_INSTRUCTION"]), asyncio.sleep(0.01))
    shell = await asyncio.create_subprocess_shell("echo from the shell", stdout=subprocess.PIPE)
    said, _ = await shell.communicate()
    assert said == b"from the shell\n", said
    return answer


if __name__ == "__main__":
    locale.setlocale(locale.LC_ALL, "")
    assert sys.prefix != sys.base_prefix, "the environment is used, not the system's Python alone"
    ssl.create_default_context()
    zone = zoneinfo.ZoneInfo("Europe/Berlin") if os.path.isdir("/usr/share/zoneinfo/Europe") else None
    time.tzset()
    with tempfile.NamedTemporaryFile() as file, sqlite3.connect(file.name) as base:
        base.execute("create table t (x)")
    if os.path.isdir("/workspace"):
        # From level L2 on: a user with a name, and a /dev/shm for semaphores.
        pwd.getpwuid(os.getuid())
        with multiprocessing.Pool(2) as pool:
            assert pool.map(square, range(4)) == [0, 1, 4, 9]
    answer = asyncio.run(main())
    subprocess.run(["touch", "done"], check=True)
    print("answered:", answer)
