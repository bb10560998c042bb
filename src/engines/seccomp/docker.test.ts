/** The profile for Docker refuses what the program for bubblewrap refuses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CHECKED } from './arguments.ts'
import { ERRNO } from './bpf.ts'
import { type Condition, dockerSeccomp } from './docker.ts'
import { seccompProgram } from './index.ts'
import { IDENTITIES, NUMBERS, type SystemCallName } from './numbers.ts'
import { REFUSED } from './refused.ts'
import { run } from './simulate.ts'

const { syscalls, defaultAction } = dockerSeccomp()
const program = seccompProgram('x64') ?? Buffer.alloc(0)

const isTrue = ({ index, op, value, valueTwo = 0 }: Condition, args: readonly bigint[]): boolean => {
  const given = BigInt.asUintN(64, args[index] ?? 0n)
  if (op === 'SCMP_CMP_MASKED_EQ') return (given & BigInt(value)) === BigInt(valueTwo)
  return op === 'SCMP_CMP_GT' ? given > BigInt(value) : given !== BigInt(value)
}

/** As runc and crun read a rule: several conditions of one argument are rules of their own. */
function verdict(call: SystemCallName, args: readonly bigint[]): string {
  const found = syscalls.find(({ names, args: conditions = [] }) => {
    const isRepeated = new Set(conditions.map(({ index }) => index)).size < conditions.length
    const matches = (condition: Condition) => isTrue(condition, args)
    return names.includes(call) && (isRepeated ? conditions.some(matches) : conditions.every(matches))
  })
  return Object.entries(ERRNO).find(([, errno]) => errno === found?.errnoRet)?.[0] ?? 'allow'
}

const byKernel = (call: SystemCallName, args: readonly bigint[]): string =>
  run(program, { arch: IDENTITIES.x64, nr: NUMBERS[call][0], args })

const someArgs = fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { minLength: 6, maxLength: 6 })

test('every call that is refused whatever its arguments answers the same in both', () => {
  assert.equal(defaultAction, 'SCMP_ACT_ALLOW')
  const names = REFUSED.flatMap(({ calls }) => calls)
  fc.assert(
    fc.property(fc.constantFrom(...names), someArgs, (call, args) => {
      assert.equal(verdict(call, args), byKernel(call, args), call)
    }),
  )
})

/** Numbers that mean something to some call, with and without an upper half, which the kernel ignores. */
const number = fc
  .tuple(
    fc.oneof(
      fc.nat(20),
      fc.constantFrom(
        0x5412,
        0x541c,
        0x541d,
        0x5423,
        0x5401,
        0x40086602,
        0x40046602,
        0x401c5820,
        31,
        58,
        136,
        132,
        115,
      ),
      fc.constantFrom(
        0x21a4,
        0x61a4,
        0x11a4,
        0x81a4,
        0x10000000,
        0x20000000,
        0x00020000,
        0x00010f00,
        0x0080001,
        0x0080002,
      ),
    ),
    fc.constantFrom(0n, 1n, 0xdeadbeefn),
  )
  .map(([low, high]) => (high << 32n) | BigInt(low))
const argumentsOf = fc.array(number, { minLength: 6, maxLength: 6 })

/** Types and protocols that no kernel has are refused by the kernel itself. */
const isOfKernel = (call: SystemCallName, [family = 0n, type = 0n, protocol = 0n]: readonly bigint[]): boolean => {
  if (call !== 'socket' || ![2n, 10n].includes(BigInt.asUintN(32, family))) return true
  const kind = type & 0xfn
  const known = kind === 1n ? [0n, 6n] : [0n, 1n, 17n, 58n]
  if (kind === 1n || kind === 2n) return protocol > (kind === 1n ? 6n : 58n) || known.includes(protocol)
  return kind !== 0n
}

test('calls that are refused for some of their arguments answer the same in both', () => {
  const names = CHECKED.map(({ call }) => call).filter((call) => call !== 'personality')
  fc.assert(
    fc.property(fc.constantFrom(...names), argumentsOf, (call, args) => {
      fc.pre(isOfKernel(call, args))
      const [docker, kernel] = [verdict(call, args), byKernel(call, args)]
      // An upper half where the kernel reads none is refused here, and is in no program.
      const hasUpperHalf = args.slice(0, 3).some((value) => value > 0xffff_ffffn)
      if (hasUpperHalf && kernel === 'allow') return
      assert.equal(docker === 'allow', kernel === 'allow', `${call} ${args}`)
      if (!hasUpperHalf) assert.equal(docker, kernel, `${call} ${args}`)
    }),
    { numRuns: 5000 },
  )
})

test('personalities that switch protections off are refused', () => {
  for (const value of [0x0040000n, 0x0400000n, 0x0100000n, 0xffffffffn])
    assert.equal(verdict('personality', [value]), 'EPERM')
  for (const value of [0n, 8n, 0x20000n, 0x20008n]) assert.equal(verdict('personality', [value]), 'allow')
})

test('it is short, since every service has it', () => {
  assert.ok(JSON.stringify(dockerSeccomp()).length < 5000, String(JSON.stringify(dockerSeccomp()).length))
})
