/**
 * Classic BPF, the virtual machine of seccomp filters: one register, forward jumps only, and loads from the call's data. Only
 * instructions that the kernel can emulate in advance are used, so that it caches the verdict on most calls.
 */

export type Instruction = { code: number; ifTrue: number; ifFalse: number; value: number }

/** Where the parts of a call stand (struct seccomp_data). */
export const CALL_NUMBER = 0
export const CALL_ARCHITECTURE = 4

/**
 * The lower half of an argument. Everything that is checked is a number of 32 bits for the kernel, which ignores the upper
 * half: a filter that compares that as well can be bypassed.
 */
export const argument = (index: number): Instruction => load(16 + 8 * index)

export const CODES = { load: 0x20, and: 0x54, ifEqual: 0x15, ifMore: 0x25, ifAnyBit: 0x45, verdict: 0x06 } as const

/** What a refused call returns: the numbers of errno, the same on both architectures. */
export const ERRNO = {
  EPERM: 1,
  ENOENT: 2,
  ENOTTY: 25,
  ENOSYS: 38,
  EPROTONOSUPPORT: 93,
  EAFNOSUPPORT: 97,
} as const

export type Errno = keyof typeof ERRNO

export const VERDICTS = { allow: 0x7fff0000, refuse: 0x00050000, kill: 0x80000000 } as const

export const ALLOW = instruction(CODES.verdict, VERDICTS.allow)
/** The whole process, not just the thread. */
export const KILL = instruction(CODES.verdict, VERDICTS.kill)
export const refuse = (answer: Errno): Instruction => instruction(CODES.verdict, VERDICTS.refuse | ERRNO[answer])

export const load = (offset: number): Instruction => instruction(CODES.load, offset)
export const and = (mask: number): Instruction => instruction(CODES.and, mask)

/** `then` has to end in a verdict if it loads anything: what comes next expects the register as it was. */
export function ifOneOf(values: readonly number[], then: readonly Instruction[]): Instruction[] {
  if (values.length === 0) return []
  return [
    ...values.map((value, index) => {
      const left = values.length - index - 1
      return instruction(CODES.ifEqual, value, left, left === 0 ? then.length : 0)
    }),
    ...then,
  ]
}

export const unless = (value: number, then: readonly Instruction[]): Instruction[] => [
  instruction(CODES.ifEqual, value, then.length, 0),
  ...then,
]

export const ifMore = (value: number, then: readonly Instruction[]): Instruction[] => [
  instruction(CODES.ifMore, value, 0, then.length),
  ...then,
]

export const ifAnyBit = (mask: number, then: readonly Instruction[]): Instruction[] => [
  instruction(CODES.ifAnyBit, mask, 0, then.length),
  ...then,
]

/** As struct sock_filter: both architectures have the lower byte first. */
export function assemble(instructions: readonly Instruction[]): Buffer {
  const program = Buffer.alloc(8 * instructions.length)
  for (const [index, { code, ifTrue, ifFalse, value }] of instructions.entries()) {
    program.writeUInt16LE(code, 8 * index)
    // Throws if a jump is too far for its byte.
    program.writeUInt8(ifTrue, 8 * index + 2)
    program.writeUInt8(ifFalse, 8 * index + 3)
    program.writeUInt32LE(value, 8 * index + 4)
  }
  return program
}

function instruction(code: number, value: number, ifTrue = 0, ifFalse = 0): Instruction {
  return { code, ifTrue, ifFalse, value }
}
