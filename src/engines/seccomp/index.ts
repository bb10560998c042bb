/**
 * Which system calls a tenant's program may make: a seccomp filter for `bwrap --seccomp`, as a pure function. It lists what is
 * refused and not what is allowed: if a call that an app needs were missing from a list of allowed ones, the app's owner could
 * never find out why it fails. See docs/decisions/0013-system-calls.md.
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
import { type Architecture, IDENTITIES, NEWEST, NUMBERS, type SystemCallName } from './numbers.ts'
import { REFUSED } from './refused.ts'

/** The program for an architecture by Node's name; undefined where there is no table of its calls. */
export function seccompProgram(arch: string = process.arch): Buffer | undefined {
  return arch === 'x64' || arch === 'arm64' ? assemble(instructionsFor(arch)) : undefined
}

function instructionsFor(arch: Architecture): Instruction[] {
  const isAnyOf = (calls: readonly SystemCallName[], then: readonly Instruction[]) =>
    ifOneOf(numbersOf(calls, arch), then)
  return [
    // 32-bit calls of the same processor have other numbers: every check below would be about another call.
    load(CALL_ARCHITECTURE),
    ...unless(IDENTITIES[arch], [KILL]),
    load(CALL_NUMBER),
    // A call that is newer than the table fails as on an older kernel. So do those of x32, whose numbers are the usual ones
    // with a high bit set.
    ...ifMore(NEWEST, [refuse('ENOSYS')]),
    // First, because the kernel caches the verdict on all other calls and runs the program for these alone.
    ...CHECKED.flatMap(({ call, check }) => isAnyOf([call], check)),
    ...REFUSED.flatMap(({ calls, answer }) => isAnyOf(calls, [refuse(answer)])),
    ALLOW,
  ]
}

/** Some old calls do not exist on the newer architecture. */
const numbersOf = (calls: readonly SystemCallName[], arch: Architecture): number[] =>
  calls.map((call) => NUMBERS[call][arch === 'x64' ? 0 : 1]).filter((number) => number !== null)
