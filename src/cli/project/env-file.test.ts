import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseEnv } from 'node:util'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { LIMITS } from '../../contract/index.ts'
import { checkVariables, readPairsIn } from '../commands/variables/variable-pairs.ts'
import { readEnv } from './env-file.ts'

const GOOD = [
  'A=1\nB = two words  \nC=\n',
  '# first\n\nexport A=1\n  B=2\nexports=3',
  'A=b#c\nB="# no" # yes\nURL=https://x.test/?a=1',
  `KEY="-----BEGIN-----\nAB=CD\n# no comment\n-----END-----"\nB='\n\n' # c\nC=\`it's\`\nD=4`,
  'A=1\r\nB="x\r\ny"\r\nC=3\r\n',
  'A=1\nB=2\nA=3',
]

test('values are those that Node reads, each with the line of its name', () => {
  for (const text of GOOD) {
    const { entries, faults } = readEnv(text)
    assert.deepEqual(faults, [], text)
    const expected = parseEnv(text.replaceAll('\r\n', '\n'))
    assert.deepEqual(Object.fromEntries(entries.map(({ key, value }) => [key, value])), { ...expected })
  }
  const lines = readEnv(GOOD[3] ?? '').entries.map(({ line, key }) => [line, key])
  assert.deepEqual(lines, [
    [1, 'KEY'],
    [5, 'B'],
    [8, 'C'],
    [9, 'D'],
  ])
  // These Node reads as other names.
  assert.deepEqual(readEnv('\uFEFFA=1\n  # B=no\n\texport\tC=3').entries, [
    { line: 1, key: 'A', value: '1' },
    { line: 3, key: 'C', value: '3' },
  ])
})

test('lines that Node would skip or cut are reported with their numbers', () => {
  const { entries, faults } = readEnv('A\nmy-name=1\n1A=2\n=3\nB="say \\"hi\\""\nC="open\nD=4\nE F=5')
  assert.deepEqual(
    faults.map(({ line }) => line),
    [1, 2, 3, 4, 5, 6, 8],
  )
  assert.deepEqual(entries, [{ line: 7, key: 'D', value: '4' }])
})

test('a file of `vercel env pull` is read as Vercel writes it: quotes within values, line ends as \\n', () => {
  const text = `# Created by Vercel CLI
CMS_URL="https://cms.example.com/?a=b#c"
EMPTY=""
JSON="{"a":"b"}"
KEY="-----BEGIN-----\\nAB=CD\\n"
OWN=added by hand
`
  const { entries, faults } = readEnv(text)
  assert.deepEqual(faults, [])
  assert.deepEqual(Object.fromEntries(entries.map(({ key, value }) => [key, value])), {
    CMS_URL: 'https://cms.example.com/?a=b#c',
    EMPTY: '',
    JSON: '{"a":"b"}',
    KEY: '-----BEGIN-----\nAB=CD\n',
    OWN: 'added by hand',
  })
  assert.deepEqual(
    entries.map(({ line }) => line),
    [2, 3, 4, 5, 6],
  )
  // Without that line it is a file by someone else, in which that would be a mistake.
  assert.equal(readEnv('JSON="{"a":"b"}"').faults.length, 1)
})

test('a secret that Vercel keeps back is reported, and its place holder never becomes the value', () => {
  const { entries, faults } = readEnv('A=1\n# Created by Vercel CLI\nTOKEN="[SENSITIVE]"\n')
  assert.deepEqual(entries, [{ line: 1, key: 'A', value: '1' }])
  assert.match(faults[0]?.why ?? '', /^has TOKEN, whose value Vercel keeps back/)
  assert.equal(faults[0]?.line, 3)
})

test('a file of `netlify env:list --json` is read, whatever is in the values', () => {
  const variables = { A: 'b#c "d"', LINES: 'one\ntwo', EMPTY: '' }
  const { entries, faults } = readEnv(JSON.stringify(variables, null, 2))
  assert.deepEqual(faults, [])
  assert.deepEqual(Object.fromEntries(entries.map(({ key, value }) => [key, value])), variables)
  assert.deepEqual(
    readEnv('{"my-name": "1", "N": 1}').faults.map(({ why }) => /my-name|has N, whose value is no text/.test(why)),
    [true, true],
  )
  assert.match(readEnv('{"A": "1"').faults[0]?.why ?? '', /not JSON to its end/)
})

test('a file with a line that cannot be used is refused before anything is sent, and the line is named', async (t) => {
  const folder = await temporaryFolder(t)
  const refusal = async (text: string): Promise<string> => {
    await writeFile(join(folder, 'a.env'), text)
    return readPairsIn(folder, 'a.env').then(
      () => 'taken',
      (error) => error.message,
    )
  }
  assert.equal(await refusal('A=1\nexport B\n'), 'a.env: line 2 is neither NAME=VALUE nor a comment')
  assert.match(await refusal('A=1\nB=2\nPORT=80\n'), /^a\.env: line 3 has PORT, which is set by the service/)
  assert.match(await refusal(`# big\nA=${'x'.repeat(LIMITS.variableValueBytes + 1)}`), /line 2 has A, .* 65536 bytes/)
  assert.match(await refusal('# nothing\n'), /holds no variable/)
  assert.match(await refusal(Array.from({ length: 20 }, () => 'bad').join('\n')), /line 5 [^\n]*\nand 15 more lines$/)
})

test('a file of 100 MB is refused, and a pipe is read as a file is', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'large.env'), 'A=1\n')
  await truncate(join(folder, 'large.env'), 100_000_000)
  await assert.rejects(readPairsIn(folder, 'large.env'), /large\.env has more than 1048576 bytes/)
  await assert.rejects(readPairsIn(folder, '.'), /cannot be read/)
  await new Promise<void>((resolve, reject) =>
    execFile('mkfifo', [join(folder, 'pipe')], (error) => (error ? reject(error) : resolve())),
  )
  const [read] = await Promise.all([readPairsIn(folder, 'pipe'), writeFile(join(folder, 'pipe'), 'A=1\n')])
  assert.deepEqual(read, [{ key: 'A', value: '1' }])
})

test('more variables than an environment may have are refused before anything is sent', () => {
  const many = Array.from({ length: LIMITS.variables + 1 }, (_, index) => ({ key: `A${index}`, value: '' }))
  assert.throws(() => checkVariables(many), /501 variables are given/)
  assert.equal(checkVariables(many.slice(1)).length, LIMITS.variables)
  const large = Array.from({ length: 9 }, (_, index) => ({ key: `A${index}`, value: 'x'.repeat(60_000) }))
  assert.throws(() => checkVariables(large), /bytes together/)
  assert.throws(() => checkVariables([{ key: 'NODE_ENV', value: 'x' }]), /NODE_ENV is set by the service/)
  assert.throws(() => checkVariables([{ key: 'A', value: 'a\0b' }]), /no variable can have/)
  assert.deepEqual(
    checkVariables([
      { key: 'A', value: '1' },
      { key: 'A', value: '2' },
    ]),
    [{ key: 'A', value: '2' }],
  )
})
