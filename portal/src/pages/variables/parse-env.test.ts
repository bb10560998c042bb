import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEnv } from './parse-env.ts'

const read = (text: string) => Object.fromEntries(parseEnv(text).entries.map(({ key, value }) => [key, value]))
const faults = (text: string) => parseEnv(text).faults.map(({ line, why }) => `${line}: ${why}`)

test('a bare value goes to the end of its line', () => {
  assert.deepEqual(read('A=1\n  B = two words  \nC='), { A: '1', B: 'two words', C: '' })
})

test('comments, empty lines, a mark of the byte order and "export" are passed over', () => {
  assert.deepEqual(read('\uFEFF# first\n\n  # A=no\nexport A=1\n\texport\tB=2\nexports=3'), {
    A: '1',
    B: '2',
    exports: '3',
  })
})

test('a sign of a comment counts after a space only', () => {
  assert.deepEqual(read('A=b#c\nB=b # c\nC=# c\nURL=https://x.test/#/home\nD="# no" # yes'), {
    A: 'b#c',
    B: 'b',
    C: '',
    URL: 'https://x.test/#/home',
    D: '# no',
  })
})

test('equal signs belong to the value', () => {
  assert.deepEqual(read('A=b=c==\nB="x=y"\nDB=postgres://u:p@h/d?a=1&b=2'), {
    A: 'b=c==',
    B: 'x=y',
    DB: 'postgres://u:p@h/d?a=1&b=2',
  })
})

test('line ends of every system are the same', () => {
  assert.deepEqual(read('A=1\r\nB=2\rC="x\r\ny"\r\n'), { A: '1', B: '2', C: 'x\ny' })
})

test('single and back quotes keep what stands in them, spaces and backslashes too', () => {
  assert.deepEqual(read(`A=' a\\n "b" '\nB=\`it's "fine"\``), { A: ' a\\n "b" ', B: `it's "fine"` })
})

test('double quotes know what cannot be written, and leave other backslashes alone', () => {
  assert.deepEqual(read('A="a\\nb\\tc"\nB="say \\"hi\\""\nC="C:\\\\new"\nD="\\d+\\$"'), {
    A: 'a\nb\tc',
    B: 'say "hi"',
    C: 'C:\\new',
    D: '\\d+$',
  })
})

test('a quoted value may have lines, and what follows it is read as before', () => {
  const key = '-----BEGIN KEY-----\nAB=CD\n# no comment\n-----END KEY-----'
  const file = parseEnv(`A="${key}" # yes\nB=2\nC='\n\n'\nD=4`)
  assert.deepEqual(
    file.entries.map(({ line, key: name, value }) => [line, name, value]),
    [
      [1, 'A', key],
      [5, 'B', '2'],
      [6, 'C', '\n\n'],
      [9, 'D', '4'],
    ],
  )
  assert.deepEqual(file.faults, [])
})

test('the last of several lines with the same name counts', () => {
  assert.deepEqual(parseEnv('A=1\nB=2\nA=3').entries, [
    { line: 2, key: 'B', value: '2' },
    { line: 3, key: 'A', value: '3' },
  ])
})

test('lines that cannot be read are reported, and the rest is read', () => {
  const text = 'A\nmy-name=1\n1A=2\n=3\nB="x" y\nC="open\nD=4'
  assert.deepEqual(faults(text), [
    '1: is not of the form NAME=value',
    '2: has a name with other characters than letters, digits and underscores',
    '3: has a name with other characters than letters, digits and underscores',
    '4: is not of the form NAME=value',
    '5: has more text after the closing "',
    '6: has no closing "',
  ])
  assert.deepEqual(read(text), { D: '4' })
})

test('names that objects have by themselves are names like others', () => {
  assert.deepEqual(
    parseEnv('__proto__=1\nconstructor=2').entries.map(({ key, value }) => [key, value]),
    [
      ['__proto__', '1'],
      ['constructor', '2'],
    ],
  )
})

test('references are not followed', () => {
  assert.deepEqual(read(`A=\${B}\nC="$D"`), { A: `\${B}`, C: '$D' })
})

test('a large file is read once, whatever is open in it', () => {
  const lines = Array.from({ length: 20_000 }, (_, index) => `A${index}="${'x'.repeat(40)}"`)
  assert.equal(parseEnv(lines.join('\n')).entries.length, 20_000)
  const open = parseEnv(['O="', "P='", ...Array.from({ length: 20_000 }, (_, index) => `A${index}=1`)].join('\n'))
  assert.equal(open.entries.length, 20_000)
  assert.equal(open.faults.length, 2)
})
