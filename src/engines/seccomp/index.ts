/**
 * Which system calls of the kernel a tenant's program may make: a filter program for `bwrap --seccomp`, decided without
 * doing anything. It lists what is refused and not what is allowed: a call that an app needs and nobody thought of
 * would be a fault that its owner could never find. See docs/decisions/0013-system-calls.md.
 */
import { CHECKED } from './arguments.ts'
import {
  ALLOW,
  assemble,
  CALL_ARCHITECTURE,
  CALL_NUMBER,
  type Instruction,
  ifMore,
  ifOneOf,
  KILL,
  load,
  refuse,
  unless,
} from './bpf.ts'
import { type Architecture, type Call, IDENTITIES, NEWEST, NUMBERS } from './numbers.ts'
import { REFUSED } from './refused.ts'

/** The program for an architecture by Node's name; nothing where there is no table of its calls. */
export function seccompProgram(arch: string = process.arch): Buffer | undefined {
  return arch === 'x64' || arch === 'arm64' ? assemble(instructionsFor(arch)) : undefined
}

function instructionsFor(arch: Architecture): Instruction[] {
  const isAnyOf = (calls: readonly Call[], then: readonly Instruction[]) => ifOneOf(numbersOf(calls, arch), then)
  return [
    // The calls of a processor's 32-bit ancestor have other numbers: every check below would mean another call.
    load(CALL_ARCHITECTURE),
    ...unless(IDENTITIES[arch], [KILL]),
    load(CALL_NUMBER),
    // A call that is younger than the table answers as on the kernel before it. So do those of x32, whose numbers are
    // the usual ones and a high bit.
    ...ifMore(NEWEST, [refuse('ENOSYS')]),
    // First, because the kernel remembers the verdict on all other calls and runs the program for these alone.
    ...CHECKED.flatMap(({ call, check }) => isAnyOf([call], check)),
    ...REFUSED.flatMap(({ calls, answer }) => isAnyOf(calls, [refuse(answer)])),
    ALLOW,
  ]
}

/** Some calls are older than the newer architecture, and not there. */
const numbersOf = (calls: readonly Call[], arch: Architecture): number[] =>
  calls.map((call) => NUMBERS[call][arch === 'x64' ? 0 : 1]).filter((number) => number !== null)
