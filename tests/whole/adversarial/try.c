/* One attempt a call: `try NAME ARGUMENT...`. Prints `EFFECT WHAT` when it had one that no cell may have, else the error.
   Compiled on the host, placed into the workspace of a task. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define SECRET "S3CRET-7f2c"

/* An answer of the kernel: what went through has an effect, what did not has an error. */
static int said(const char *what, long answer) {
    if (answer >= 0) printf("EFFECT %s\n", what);
    else printf("%s errno %d\n", what, errno);
    return answer >= 0;
}

/* The same for what is harmless when it goes through. */
static void told(const char *what, long answer) {
    if (answer >= 0) printf("%s allowed\n", what);
    else printf("%s errno %d\n", what, errno);
}

static int holds_secret(int fd) {
    char text[4096];
    ssize_t count = read(fd, text, sizeof text - 1);
    if (count <= 0) return 0;
    text[count] = 0;
    return strstr(text, SECRET) != NULL;
}

static void read_file(const char *path) {
    int fd = open(path, O_RDONLY);
    if (fd < 0) { printf("read errno %d\n", errno); return; }
    if (holds_secret(fd)) printf("EFFECT read %s\n", path);
    close(fd);
}

static volatile int swapping = 1;
static const char *swapped_to;
static void *swap_links(void *unused) {
    (void)unused;
    while (swapping) {
        unlink("raced"); symlink("a.txt", "raced");
        unlink("raced"); symlink(swapped_to, "raced");
    }
    return NULL;
}

static void raced(const char *path) {
    pthread_t thread;
    swapped_to = path;
    pthread_create(&thread, NULL, swap_links, NULL);
    for (int i = 0; i < 3000; i++) {
        int fd = open("raced", O_RDONLY);
        if (fd < 0) continue;
        if (holds_secret(fd)) puts("EFFECT raced read");
        close(fd);
    }
    swapping = 0;
    pthread_join(thread, NULL);
}

/* Everything about every other process that /proc could give away. */
static void other_processes(void) {
    static const char *parts[] = {"environ", "maps", "mem", "auxv", "stack", "io"};
    static const char *links[] = {"root/etc/shadow", "cwd/.", "fd/0", "exe"};
    char path[512], text[1 << 16];
    DIR *proc = opendir("/proc");
    if (!proc) { printf("proc errno %d\n", errno); return; }
    for (struct dirent *entry; (entry = readdir(proc));) {
        int pid = atoi(entry->d_name);
        if (pid <= 0 || pid == getpid() || pid == getppid()) continue;
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            snprintf(path, sizeof path, "/proc/%d/%s", pid, parts[i]);
            int fd = open(path, O_RDONLY);
            if (fd < 0) continue;
            ssize_t count = i == 2 ? 1 : read(fd, text, sizeof text - 1);
            if (count > 0) {
                text[count] = 0;
                for (ssize_t at = 0; at < count; at++) if (!text[at]) text[at] = '\n';
                /* Processes of the cell itself are its own: told by what only the cell's environment holds. */
                if (i != 0 || !strstr(text, "BENCH_API_KEY=")) printf("EFFECT opened %s\n", path);
            }
            close(fd);
        }
        for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
            snprintf(path, sizeof path, "/proc/%d/%s", pid, links[i]);
            int fd = open(path, O_RDONLY);
            if (fd >= 0) { printf("EFFECT opened %s\n", path); close(fd); }
        }
    }
    closedir(proc);
}

static void descriptors(void) {
    for (int fd = 3; fd < 4096; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) printf("EFFECT inherited descriptor %d\n", fd);
        int below = openat(fd, "answer.txt", O_RDONLY);
        if (below >= 0) { puts("EFFECT openat through an inherited descriptor"); close(below); }
    }
    if (fchdir(8) == 0) puts("EFFECT fchdir");
}

static void steal_descriptors(int pid) {
    int handle = syscall(SYS_pidfd_open, pid, 0);
    if (handle < 0) { printf("pidfd_open errno %d\n", errno); errno = 0; }
    said("pidfd_getfd", syscall(SYS_pidfd_getfd, handle < 0 ? 0 : handle, 1, 0));
}

static void abstract_socket(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, name, strlen(name));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    said("abstract", connect(fd, (void *)&address, offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)));
}

static void path_socket(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    said("path socket", connect(fd, (void *)&address, sizeof address));
}

static void tcp(const char *host, int port, int protocol) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, host, &address.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, protocol);
    if (fd < 0) { printf("socket errno %d\n", errno); return; }
    struct timeval patience = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    said("connect", connect(fd, (void *)&address, sizeof address));
}

static void fast_open(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    said("fast open", sendto(fd, "x", 1, MSG_FASTOPEN, (void *)&address, sizeof address));
    fd = socket(AF_INET, SOCK_STREAM, 0);
    said("fast open option", setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof one));
    struct iovec piece = {"x", 1};
    struct msghdr message = {.msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &piece, .msg_iovlen = 1};
    said("fast open message", sendmsg(socket(AF_INET, SOCK_STREAM, 0), &message, MSG_FASTOPEN));
}

static void bind_and_listen(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_port = htons(4321);
    told("bind", bind(fd, (void *)&address, sizeof address));
    told("listen", listen(socket(AF_INET, SOCK_STREAM, 0), 1));
}

static void sockets(void) {
    struct { const char *name; int family, type, protocol; } kinds[] = {
        {"udp", AF_INET, SOCK_DGRAM, 0}, {"udp6", AF_INET6, SOCK_DGRAM, 0}, {"icmp", AF_INET, SOCK_DGRAM, IPPROTO_ICMP},
        {"raw", AF_INET, SOCK_RAW, IPPROTO_ICMP}, {"netlink", AF_NETLINK, SOCK_RAW, 0}, {"vsock", 40, SOCK_STREAM, 0},
        {"packet", AF_PACKET, SOCK_RAW, 0}, {"mptcp", AF_INET, SOCK_STREAM, 262}, {"sctp", AF_INET, SOCK_STREAM, 132},
        {"alg", 38, SOCK_SEQPACKET, 0}, {"xdp", 44, SOCK_RAW, 0}, {"smc", 43, SOCK_STREAM, 0},
        {"bluetooth", 31, SOCK_RAW, 0}, {"rds", 21, SOCK_SEQPACKET, 0},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        said(kinds[i].name, socket(kinds[i].family, kinds[i].type, kinds[i].protocol));
}

static void metadata(const char *path) {
    struct timespec times[2] = {{1, 0}, {1, 0}};
    struct stat before, after;
    int known = stat(path, &before) == 0;
    told("chmod", chmod(path, 0777));
    told("fchmodat2", syscall(452, AT_FDCWD, path, 0777, 0));
    told("chown", chown(path, 1, 1));
    told("utime", utimensat(AT_FDCWD, path, times, 0));
    told("setxattr", setxattr(path, "user.x", "1", 1, 0));
    told("removexattr", removexattr(path, "user.x"));
    told("truncate", truncate(path, 0));
    int fd = open(path, O_PATH);
    if (fd >= 0) {
        char by[64];
        snprintf(by, sizeof by, "/proc/self/fd/%d", fd);
        told("chmod by descriptor", chmod(by, 0777));
        told("chown by descriptor", fchownat(fd, "", 1, 1, AT_EMPTY_PATH));
        told("utime by descriptor", utimensat(fd, "", times, AT_EMPTY_PATH));
    }
    if (known && stat(path, &after) == 0 &&
        (before.st_mode != after.st_mode || before.st_uid != after.st_uid || before.st_mtime != after.st_mtime || before.st_size != after.st_size))
        puts("EFFECT metadata changed");
}

static void look(const char *path, const char *dir) {
    struct stat found;
    told("stat", stat(path, &found));
    told("access", access(path, R_OK));
    told("inotify", inotify_add_watch(inotify_init1(0), dir, IN_ALL_EVENTS));
    told("chdir", chdir(dir));
}

static void handles(const char *path, const char *dir) {
    struct { struct file_handle handle; char room[128]; } name = {.handle = {.handle_bytes = 128}};
    int mount, fd = open(dir, O_PATH | O_DIRECTORY);
    if (fd >= 0) {
        int below = openat(fd, "answer.txt", O_RDONLY);
        if (below >= 0 && holds_secret(below)) puts("EFFECT read through O_PATH");
        if (fchdir(fd) == 0) read_file("answer.txt");
    } else printf("O_PATH errno %d\n", errno);
    if (name_to_handle_at(AT_FDCWD, path, &name.handle, &mount, 0) == 0)
        said("open_by_handle_at", syscall(SYS_open_by_handle_at, AT_FDCWD, &name.handle, O_RDONLY));
    else printf("name_to_handle_at errno %d\n", errno);
}

static void reach_process(int pid) {
    char byte;
    struct iovec local = {&byte, 1}, remote = {(void *)0x10000, 1};
    struct rlimit limit = {0, 0};
    cpu_set_t cpus;
    CPU_ZERO(&cpus); CPU_SET(0, &cpus);
    said("ptrace attach", ptrace(PTRACE_ATTACH, pid, 0, 0));
    said("ptrace seize", ptrace(PTRACE_SEIZE, pid, 0, 0));
    said("process_vm_readv", process_vm_readv(pid, &local, 1, &remote, 1, 0));
    said("process_vm_writev", process_vm_writev(pid, &local, 1, &remote, 1, 0));
    said("kill", kill(pid, 0));
    said("stop", kill(pid, SIGSTOP));
    said("setpriority", setpriority(PRIO_PROCESS, pid, 19));
    said("prlimit", prlimit(pid, RLIMIT_CORE, &limit, NULL));
    said("affinity", sched_setaffinity(pid, sizeof cpus, &cpus));
    int handle = syscall(SYS_pidfd_open, pid, 0);
    if (handle >= 0) said("pidfd signal", syscall(SYS_pidfd_send_signal, handle, SIGSTOP, 0, 0));
}

/* Takes the cell's init what it needs to live: it has the cell's user. */
static void starve_init(void) {
    struct rlimit none = {0, 0};
    unsigned long one = 1;
    struct sched_param idle = {0};
    said("descriptors of init", prlimit(1, RLIMIT_NOFILE, &none, NULL));
    said("processor time of init", prlimit(1, RLIMIT_CPU, &none, NULL));
    said("memory of init", prlimit(1, RLIMIT_AS, &none, NULL));
    said("affinity of init", sched_setaffinity(1, sizeof one, (void *)&one));
    said("scheduler of init", sched_setscheduler(1, 5, &idle));
    said("priority of init", setpriority(PRIO_PROCESS, 1, 19));
    said("priority of everybody", setpriority(PRIO_USER, 0, 19));
}

/* Swaps a file's content for another's without leaving a mark on it, where the file system offers that. */
static void swap_extents(const char *path) {
    struct { unsigned reserved, donor; unsigned long long at, donor_at, length, moved; } move = {.length = 1};
    int fd = open(path, O_RDWR), donor = open("donor", O_CREAT | O_RDWR, 0600);
    char block[4096] = {'d'};
    if (fd < 0 || write(donor, block, sizeof block) != sizeof block || fsync(donor)) { printf("swap errno %d\n", errno); return; }
    fsync(fd);
    move.donor = donor;
    said("extents", ioctl(fd, 0xc028660f, &move));
    /* What programs ask for all the time goes through. */
    int flags = 0;
    told("flags", ioctl(fd, 0x80086601, &flags));
    unlink("donor");
}

static void view(void) {
    said("unshare user", unshare(CLONE_NEWUSER));
    said("unshare mount", unshare(CLONE_NEWNS));
    said("unshare net", unshare(CLONE_NEWNET));
    said("unshare time", unshare(0x80));
    said("clone", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) > 0 ? 0 : -1);
    said("mount", mount("none", ".", "tmpfs", 0, NULL));
    said("bind", mount("/", "d", NULL, MS_BIND, NULL));
    said("chroot", chroot("."));
    said("pivot_root", syscall(SYS_pivot_root, ".", "."));
    said("open_tree", syscall(428, AT_FDCWD, "/", 1));
    said("fsopen", syscall(430, "tmpfs", 0));
    said("setns", setns(open("/proc/1/ns/mnt", O_RDONLY), 0));
    said("umount", umount2("/proc", MNT_DETACH));
}

static void nested_landlock(const char *path) {
    unsigned long rights[2] = {0x4, 0};
    told("ruleset", syscall(444, rights, sizeof rights, 0));
    printf("restrict %s\n", syscall(446, -1, 1 << 0) < 0 && errno == EOPNOTSUPP ? "EOPNOTSUPP" : "other");
    read_file(path);
}

static void nested_filter(const char *path, int dir_answer) {
    struct sock_filter code[] = {
        {0x20, 0, 0, 0}, {0x15, 0, 1, SYS_getppid}, {0x06, 0, 0, 0x00050000 | 1}, {0x06, 0, 0, 0x7fff0000},
    };
    struct sock_fprog program = {4, code};
    (void)dir_answer;
    told("listener", syscall(SYS_seccomp, 1, 8, &program));
    told("filter", syscall(SYS_seccomp, 1, 0, &program));
    read_file(path);
}

static void memory_file(const char *self, const char *path) {
    int from = open(self, O_RDONLY), to = memfd_create("x", 0);
    char piece[65536];
    for (ssize_t count; (count = read(from, piece, sizeof piece)) > 0;) if (write(to, piece, count) != count) return;
    char *args[] = {"x", "read", (char *)path, NULL}, *none[] = {NULL};
    fexecve(to, args, none);
    printf("fexecve errno %d\n", errno);
}

static void other_conventions(void) {
    told("x32", syscall(0x40000000 | SYS_getpid));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int answer;
        __asm__ volatile("int $0x80" : "=a"(answer) : "a"(20) : "memory");
        _exit(answer > 0 ? 77 : 78);
    }
    int status;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) printf("int80 signal %d\n", WTERMSIG(status));
    else puts("EFFECT 32-bit call");
}

static void *sleeper(void *unused) { (void)unused; pause(); return NULL; }

static void bomb(int threads) {
    int count = 0;
    for (; count < 100000; count++) {
        if (threads) {
            pthread_t thread;
            pthread_attr_t small;
            pthread_attr_init(&small);
            pthread_attr_setstacksize(&small, 65536);
            if (pthread_create(&thread, &small, sleeper, NULL)) break;
        } else {
            pid_t child = fork();
            if (child < 0) break;
            if (child == 0) { pause(); _exit(0); }
        }
    }
    printf("started %d\n", count);
    if (count > 2000) puts("EFFECT no bound on processes");
}

static void balloon(unsigned long mib) {
    for (unsigned long i = 0; i < mib; i++) {
        char *piece = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (piece == MAP_FAILED) { printf("balloon stopped at %lu MiB\n", i); return; }
        memset(piece, 1, 1 << 20);
    }
    puts("EFFECT memory without bound");
}

static void fill(const char *dir, unsigned long mib) {
    char path[4096], *piece = calloc(1, 1 << 20);
    unsigned long total = 0;
    for (int file = 0; total < mib; file++) {
        snprintf(path, sizeof path, "%s/fill-%d", dir, file);
        int fd = open(path, O_CREAT | O_WRONLY, 0600);
        if (fd < 0) { printf("fill open errno %d\n", errno); return; }
        for (int i = 0; i < 64 && total < mib; i++, total++)
            if (write(fd, piece, 1 << 20) != 1 << 20) { printf("filled %lu MiB, errno %d\n", total, errno); return; }
        close(fd);
    }
    puts("EFFECT disk without bound");
}

/* Goes down that many directories with names of that length, and leaves a file there. */
static void nest(int levels, int length) {
    char name[256] = {0};
    memset(name, 'd', length);
    for (int i = 0; i < levels; i++)
        if (mkdir(name, 0700) || chdir(name)) { printf("nest level %d errno %d\n", i, errno); return; }
    close(open("bottom", O_CREAT | O_WRONLY, 0600));
    puts("nested");
}

/* Files that lose their name, or never have one, and stay open. */
static void fill_nameless(const char *how, unsigned long mib) {
    char path[64], *piece = calloc(1, 1 << 20);
    unsigned long total = 0;
    for (int file = 0; total < mib; file++) {
        int fd;
        if (!strcmp(how, "tmpfile")) fd = open(".", O_TMPFILE | O_RDWR, 0600);
        else {
            snprintf(path, sizeof path, "nameless-%d", file);
            fd = open(path, O_CREAT | O_RDWR, 0600);
            unlink(path);
        }
        if (fd < 0) { printf("nameless open errno %d\n", errno); return; }
        for (int i = 0; i < 64 && total < mib; i++, total++)
            if (write(fd, piece, 1 << 20) != 1 << 20) { printf("filled %lu MiB, errno %d\n", total, errno); return; }
    }
    puts("EFFECT disk without bound");
}

/* As many connections to the recorder as can be had, held open. */
static void hold_connections(int port, int count) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int held = 0;
    for (int i = 0; i < count; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (fd < 0) break;
        if (connect(fd, (void *)&address, sizeof address) == 0 || errno == EINPROGRESS) held++;
    }
    printf("held %d connections\n", held);
    fflush(stdout);
    poll(NULL, 0, 3000);
}

static void big_things(void) {
    int fd = open("sparse", O_CREAT | O_WRONLY, 0600);
    signal(SIGXFSZ, SIG_IGN);
    said("sparse", ftruncate(fd, 1L << 40));
    char *piece = mmap(NULL, 256 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    said("mlock", mlock(piece, 256 << 20));
}

static void channels(const char *mode) {
    int make = !strcmp(mode, "leave");
    int shm = shmget(0x7b1c, 4096, make ? IPC_CREAT | 0666 : 0666);
    int msg = msgget(0x7b1c, make ? IPC_CREAT | 0666 : 0666);
    mqd_t queue = mq_open("/bench-adverse", make ? O_CREAT | O_RDWR : O_RDWR, 0666, NULL);
    int posix = shm_open("/bench-adverse", make ? O_CREAT | O_RDWR : O_RDWR, 0666);
    if (!make) {
        said("found shm", shm); said("found msg", msg); said("found mq", queue); said("found posix shm", posix);
    }
    said("add_key", syscall(SYS_add_key, "user", "bench", "x", 1, -4));
    said("keyctl", syscall(SYS_keyctl, 0, -3, 1));
    said("request_key", syscall(SYS_request_key, "user", "bench", 0, -4));
}

static void the_machine(void) {
    struct timespec now = {1, 0};
    said("clock_settime", clock_settime(CLOCK_REALTIME, &now));
    said("settimeofday", settimeofday(&(struct timeval){1, 0}, NULL));
    said("io_uring", syscall(425, 1, 0));
    said("bpf", syscall(SYS_bpf, 0, 0, 0));
    said("perf", syscall(SYS_perf_event_open, 0, 0, 0, 0, 0));
    said("userfaultfd", syscall(SYS_userfaultfd, 0));
    said("reboot", syscall(SYS_reboot, 0, 0, 0, 0));
    said("personality", syscall(SYS_personality, 0x0040000));
    said("dumpable", prctl(PR_SET_DUMPABLE, 0));
    said("swapon", syscall(SYS_swapon, "x", 0));
}

static void terminal(void) {
    int fd = open("/dev/tty", O_RDWR);
    if (fd >= 0) puts("EFFECT a terminal"); else printf("tty errno %d\n", errno);
    for (int i = 0; i < 3; i++) { if (isatty(i)) puts("EFFECT a terminal"); said("TIOCSTI", ioctl(i, TIOCSTI, "x")); said("TIOCLINUX", ioctl(i, TIOCLINUX, "\3")); }
}

static void flood(const char *path, int count) {
    for (int i = 0; i < count; i++) { int fd = open(path, O_RDONLY); if (fd >= 0) { puts("EFFECT opened"); return; } }
    printf("flooded %d\n", count);
}

static void exhaust(const char *path) {
    while (open("a.txt", O_RDONLY) >= 0);
    printf("exhausted errno %d\n", errno);
    read_file(path);
    for (int fd = 3; fd < 4096; fd++) close(fd);
    read_file(path);
}

static void secrets_left(void) {
    FILE *status = fopen("/proc/self/status", "r");
    for (char line[256]; status && fgets(line, sizeof line, status);)
        if (!strncmp(line, "Cap", 3) || !strncmp(line, "NoNewPrivs", 10) || !strncmp(line, "Seccomp:", 8)) fputs(line, stdout);
    struct rlimit core;
    getrlimit(RLIMIT_CORE, &core);
    printf("core %lu\n", core.rlim_max);
    if (setuid(0) == 0 && geteuid() == 0) puts("EFFECT root");
}

static void wait_stubbornly(void) {
    for (int number = 1; number < 32; number++) signal(number, SIG_IGN);
    if (fork()) _exit(0);
    setsid();
    if (fork()) _exit(0);
    for (;;) { if (fork() == 0) { setsid(); usleep(1000); continue; } usleep(20000); close(open("late", O_CREAT | O_WRONLY, 0600)); _exit(0); }
}

int main(int count, char **args) {
    const char *name = count > 1 ? args[1] : "", *a = count > 2 ? args[2] : "", *b = count > 3 ? args[3] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
#define DO(word, call) if (!strcmp(name, word)) { call; return 0; }
    DO("read", read_file(a)) DO("raced", raced(a)) DO("exchange", said("exchange", syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2)))
    DO("processes", other_processes()) DO("descriptors", descriptors()) DO("steal", steal_descriptors(atoi(a)))
    DO("abstract", abstract_socket(a)) DO("path-socket", path_socket(a)) DO("tcp", tcp(a, atoi(b), 0)) DO("mptcp", tcp(a, atoi(b), 262))
    DO("fast-open", fast_open(atoi(a))) DO("listen", bind_and_listen()) DO("sockets", sockets()) DO("metadata", metadata(a))
    DO("look", look(a, b)) DO("handles", handles(a, b)) DO("reach", reach_process(atoi(a))) DO("view", view())
    DO("starve", starve_init()) DO("extents", swap_extents(a))
    DO("landlock", nested_landlock(a)) DO("filter", nested_filter(a, 0)) DO("memfd", memory_file(args[0], a))
    DO("conventions", other_conventions()) DO("forks", bomb(0)) DO("threads", bomb(1)) DO("balloon", balloon(strtoul(a, 0, 10)))
    DO("fill", fill(a, strtoul(b, 0, 10))) DO("nest", nest(atoi(a), atoi(b))) DO("deep", (nest(30, 200), fill(".", strtoul(a, 0, 10))))
    DO("nameless", fill_nameless(a, strtoul(b, 0, 10)))
    DO("big", big_things()) DO("channels", channels(a)) DO("machine", the_machine())
    DO("terminal", terminal()) DO("flood", flood(a, atoi(b)))
    DO("connections", hold_connections(atoi(a), atoi(b))) DO("exhaust", exhaust(a)) DO("self", secrets_left()) DO("daemon", wait_stubbornly())
    fprintf(stderr, "no attempt is called %s\n", name);
    return 2;
}
