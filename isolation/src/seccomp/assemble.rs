//! A small assembler for classic BPF as seccomp takes it, and the evaluation of what it made.
//!
//! Rules are sorted by call number and found by bisection: the kernel runs the program once for every call number at
//! installation (its table of calls that are always allowed), so a long chain of comparisons would cost every cell.

/// One instruction, laid out as the kernel's `struct sock_filter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Instruction {
    pub(super) code: u16,
    pub(super) jt: u8,
    pub(super) jf: u8,
    pub(super) k: u32,
}

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const JUMP: u16 = 0x05; // BPF_JMP | BPF_JA
const EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const ANY_BIT: u16 = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

const OFFSET_NUMBER: u32 = 0;
const OFFSET_ARCHITECTURE: u32 = 4;
const OFFSET_ARGUMENTS: u32 = 16;

const RET_KILL_PROCESS: u32 = 0x8000_0000;
const RET_ERRNO: u32 = 0x0005_0000;
const RET_USER_NOTIF: u32 = 0x7fc0_0000;
const RET_ALLOW: u32 = 0x7fff_0000;
const RET_DATA: u32 = 0xffff;

/// The first call number of the x32 convention.
pub(super) const X32_FIRST: u32 = 0x4000_0000;

/// How many rules a leaf of the bisection compares one by one.
const LEAF: usize = 4;

/// A system call as the filter sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallData {
    /// Its number.
    pub number: u32,
    /// The calling convention (`AUDIT_ARCH_…`).
    pub architecture: u32,
    /// Its registers.
    pub arguments: [u64; 6],
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It runs.
    Allow,
    /// It fails with this error number.
    Errno(u16),
    /// The supervisor is woken first.
    Notify,
    /// The process ends.
    Kill,
}

impl Outcome {
    fn as_return(self) -> u32 {
        match self {
            Self::Allow => RET_ALLOW,
            Self::Errno(errno) => RET_ERRNO | u32::from(errno),
            Self::Notify => RET_USER_NOTIF,
            Self::Kill => RET_KILL_PROCESS,
        }
    }

    fn from_return(value: u32) -> Self {
        match value & !RET_DATA {
            RET_ALLOW => Self::Allow,
            RET_ERRNO => Self::Errno((value & RET_DATA) as u16),
            RET_USER_NOTIF => Self::Notify,
            _ => Self::Kill,
        }
    }
}

/// A test of the lower half of an argument: every argument tested here is an `int` to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    /// The argument is this.
    Is { argument: u8, value: u32 },
    /// The argument's bits under the mask are this.
    Masked { argument: u8, mask: u32, value: u32 },
    /// The argument has one of these bits.
    AnyBit { argument: u8, bits: u32 },
}

/// If every test holds, this becomes of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause {
    pub(super) tests: Vec<Test>,
    pub(super) then: Outcome,
}

/// Everything about one call: the first clause that holds decides, or `otherwise`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) number: u32,
    pub(super) clauses: Vec<Clause>,
    pub(super) otherwise: Outcome,
}

/// An assembled program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    instructions: Vec<Instruction>,
}

impl Program {
    /// Assembles rules with one number each. A call without a rule is allowed.
    pub(super) fn assemble(architecture: u32, mut rules: Vec<Rule>) -> Self {
        rules.sort_by_key(|rule| rule.number);
        debug_assert!(rules.windows(2).all(|pair| pair[0].number < pair[1].number), "one rule a call");
        let mut instructions = vec![
            load(OFFSET_ARCHITECTURE),
            jump(EQUAL, architecture, 1, 0),
            give(Outcome::Kill),
            load(OFFSET_NUMBER),
            jump(AT_LEAST, X32_FIRST, 0, 1),
            give(Outcome::Errno(libc::ENOSYS as u16)),
        ];
        instructions.extend(bisect(&rules));
        Self { instructions }
    }

    pub(super) fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// The bytes of the program, the same on every machine.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let each = self.instructions.iter().flat_map(|i| {
            let [a, b] = i.code.to_le_bytes();
            let [c, d, e, f] = i.k.to_le_bytes();
            [a, b, i.jt, i.jf, c, d, e, f]
        });
        each.collect()
    }

    /// Runs the program as the kernel does. What runs off its end or is no instruction of ours kills, as nothing else
    /// would be safe.
    pub(super) fn outcome(&self, call: &CallData) -> Outcome {
        let mut accumulator = 0u32;
        let mut at = 0usize;
        while let Some(instruction) = self.instructions.get(at) {
            let k = instruction.k;
            let branch = |holds: bool| usize::from(if holds { instruction.jt } else { instruction.jf });
            at += 1;
            match instruction.code {
                LOAD => accumulator = word(call, k),
                AND => accumulator &= k,
                JUMP => at += k as usize,
                EQUAL => at += branch(accumulator == k),
                AT_LEAST => at += branch(accumulator >= k),
                ANY_BIT => at += branch(accumulator & k != 0),
                RETURN => return Outcome::from_return(k),
                _ => return Outcome::Kill,
            }
        }
        Outcome::Kill
    }
}

fn word(call: &CallData, offset: u32) -> u32 {
    match offset {
        OFFSET_NUMBER => call.number,
        OFFSET_ARCHITECTURE => call.architecture,
        _ => {
            let index = (offset.saturating_sub(OFFSET_ARGUMENTS) / 8) as usize;
            let argument = call.arguments.get(index).copied().unwrap_or(0);
            if offset.is_multiple_of(8) { argument as u32 } else { (argument >> 32) as u32 }
        }
    }
}

/// The accumulator holds the call's number on entry.
fn bisect(rules: &[Rule]) -> Vec<Instruction> {
    if rules.len() <= LEAF {
        let mut leaf: Vec<Instruction> = rules.iter().flat_map(compare).collect();
        leaf.push(give(Outcome::Allow));
        return leaf;
    }
    let (left, right) = rules.split_at(rules.len() / 2);
    let below = bisect(left);
    let mut made = vec![
        jump(AT_LEAST, right[0].number, 0, 1),
        Instruction { code: JUMP, jt: 0, jf: 0, k: length(&below) },
    ];
    made.extend(below);
    made.extend(bisect(right));
    made
}

fn length(instructions: &[Instruction]) -> u32 {
    u32::try_from(instructions.len()).expect("a filter is far shorter than 4 G instructions")
}

fn compare(rule: &Rule) -> Vec<Instruction> {
    let mut body: Vec<Instruction> = rule.clauses.iter().flat_map(clause).collect();
    body.push(give(rule.otherwise));
    let mut made = vec![jump(EQUAL, rule.number, 0, short(body.len()))];
    made.extend(body);
    made
}

/// Falls out at its end where a test does not hold.
fn clause(clause: &Clause) -> Vec<Instruction> {
    let mut made = vec![give(clause.then)];
    // From the last test to the first: each knows how far it is to the end.
    for test in clause.tests.iter().rev() {
        let to_end = short(made.len());
        let mut block = match *test {
            Test::Is { argument, value } => vec![load_argument(argument), jump(EQUAL, value, 0, to_end)],
            Test::Masked { argument, mask, value } => {
                let and = Instruction { code: AND, jt: 0, jf: 0, k: mask };
                vec![load_argument(argument), and, jump(EQUAL, value, 0, to_end)]
            }
            Test::AnyBit { argument, bits } => vec![load_argument(argument), jump(ANY_BIT, bits, 0, to_end)],
        };
        block.append(&mut made);
        made = block;
    }
    made
}

fn short(distance: usize) -> u8 {
    u8::try_from(distance).expect("no rule is longer than 255 instructions")
}

fn load(offset: u32) -> Instruction {
    Instruction { code: LOAD, jt: 0, jf: 0, k: offset }
}

fn load_argument(argument: u8) -> Instruction {
    // The lower half comes first on every architecture that this module builds for.
    load(OFFSET_ARGUMENTS + 8 * u32::from(argument))
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code, jt, jf, k }
}

fn give(outcome: Outcome) -> Instruction {
    Instruction { code: RETURN, jt: 0, jf: 0, k: outcome.as_return() }
}
