/** What the shells themselves complete. zsh and fish are tested where they are installed. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../test/support/folder.ts'
import { TIMEOUT_MS } from '../test/support/until.ts'
import { type CompletedForm, completion, SHELLS } from './completion.ts'
import { type CommandForm, UsageError } from './contract/index.ts'

const run = promisify(execFile)

const TRICKY = "It's a [trap]: `touch ran` $(touch ran) \"\\' %s"

const command = (form: Partial<CommandForm> & { name: string }): CommandForm => ({
  positionals: [],
  summary: 'Do something',
  options: {},
  ...form,
})

const COMMANDS: readonly CompletedForm[] = [
  command({
    name: 'apps create',
    positionals: ['NAME'],
    summary: 'Make an app',
    options: {
      region: { type: 'string', oneOf: ['UK', 'US-C'], describe: 'Where it is' },
      file: { type: 'string', describe: TRICKY },
      yes: { type: 'boolean', short: 'y', describe: TRICKY },
    },
  }),
  command({ name: 'apps', summary: TRICKY, options: { json: { type: 'boolean', describe: 'Print JSON.' } } }),
  command({ name: 'deploy', positionals: ['[DIR]'] }),
  command({ name: 'deployments', positionals: ['[PATH…]'] }),
  command({ name: 'completion', positionals: ['SHELL'] }),
  command({ name: 'logs', options: { env: { type: 'string', describe: 'The environment.' } } }),
  command({ name: 'envs delete', positionals: ['ENV'] }),
  command({ name: 'builds show', positionals: ['[BUILD]'] }),
  { ...command({ name: 'users create', options: { account: { type: 'string', describe: 'Its.' } } }), who: 'operator' },
]

/** Names that would do harm if a shell ran them, expanded them, or read them as an option or a path. */
const NAMES = [
  'My Site',
  'My $(touch ran)',
  'My `touch ran`; touch ran',
  `My 'quoted' "one" \\ !x`,
  'My ~ * {a,b}',
  'Other',
]

/** What is typed, and all words that may complete it. */
const CASES: [typed: string, expected: string[]][] = [
  ['headland dep', ['deploy', 'deployments']],
  ['headland apps ', ['create']],
  ['headland apps --', ['--help', '--json']],
  ['headland apps create x --', ['--file', '--help', '--region', '--yes']],
  ['headland apps create --region U', ['UK', 'US-C']],
  ['headland apps create x --file a', ['a file', 'a folder/']],
  ['headland deploy a', ['a folder/']],
  ['headland deployments a', []],
  ['headland completion ', ['bash', 'fish', 'zsh']],
  ['headland nonsense ', []],
]

const EXPECTED = CASES.map(([, expected]) => expected)

/** The lines that were printed for each case, in alphabetical order. */
const answersIn = (output: string): string[][] =>
  output
    .split('=====\n')
    .slice(0, CASES.length)
    .map((lines) => lines.split('\n').slice(0, -1).sort())

const folder = await temporaryFolder({ after })
await mkdir(join(folder, 'a folder'))
await writeFile(join(folder, 'a file'), '')
const scripts = await temporaryFolder({ after })
for (const shell of SHELLS) await writeFile(join(scripts, shell), completion(shell, COMMANDS))
/** A service that knows these names, and a note of what was asked. */
const bin = await temporaryFolder({ after })
await writeFile(join(bin, 'names'), `${NAMES.join('\n')}\n`)
/** Short ids, with what a shell shows beside each. */
const IDS = {
  '1a2b3c4d': 'FAILED, UPLOAD, $(touch ran)',
  '1a2b5e6f': 'SUCCEEDED, API, 3 min ago',
  '9c8d7e6f': '`touch ran`',
}
await writeFile(
  join(bin, 'ids'),
  Object.entries(IDS)
    .map(([id, about]) => `${id}\t${about}\n`)
    .join(''),
)
const answering = `case "$*" in *"--names builds"*) cat "${bin}/ids" ;; *) cat "${bin}/names" ;; esac`
await writeFile(join(bin, 'headland'), `#!/bin/sh\necho "$@" >>"${bin}/asked"\n${answering}\n`, { mode: 0o755 })

const ask = async (shell: string, script: string, ...args: string[]): Promise<string> =>
  (
    await run(shell, args.length > 0 ? args : ['-c', script], {
      cwd: folder,
      timeout: TIMEOUT_MS,
      env: { ...process.env, HOME: folder, PATH: [bin, process.env.PATH].join(delimiter) },
    })
  ).stdout

const isThere = (shell: string): Promise<boolean> =>
  run(shell, ['-c', 'exit 0']).then(
    () => true,
    () => false,
  )

test('bash completes commands, options, values and files, and runs nothing that it reads', async () => {
  const asked = CASES.map(([typed]) => {
    const words = typed.split(' ').map((word) => `'${word}'`)
    return `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _headland
      for reply in "\${COMPREPLY[@]}"; do [[ -d $reply ]] && reply+=/; echo "$reply"; done; echo =====`
  })
  const output = await ask('bash', `source ${join(scripts, 'bash')}\n${asked.join('\n')}`)
  assert.deepEqual(answersIn(output), EXPECTED)
  assert.deepEqual((await readdir(folder)).sort(), ['a file', 'a folder'])
})

test('bash completes the value behind an equals sign, which it takes for a word', async () => {
  const asked = `COMP_WORDS=(headland apps create --region = U); COMP_CWORD=5; _headland; echo "\${COMPREPLY[@]}"`
  assert.equal(await ask('bash', `source ${join(scripts, 'bash')}\n${asked}`), 'UK US-C\n')
})

test('bash puts each name of the service into the line as one word, and runs none of them', async () => {
  const asked = `typed() { COMP_LINE="$*"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _headland; }
    typed headland logs --env My
    for reply in "\${COMPREPLY[@]}"; do eval "set -- $reply"; echo "$# $1"; done
    typed headland logs --env = 'My\\ S'; echo "\${COMPREPLY[@]}"
    typed headland envs delete O; echo "\${COMPREPLY[@]}"
    typed headland logs --env "'My"; printf '%s\\n' "\${COMPREPLY[@]}"; echo =====
    typed headland logs --env '"My'; printf '%s\\n' "\${COMPREPLY[@]}"; echo =====
    typed headland users create --account O; echo "none: \${COMPREPLY[@]}"`
  const output = await ask('bash', `source ${join(scripts, 'bash')}\n${asked}`)
  const mine = NAMES.filter((name) => name.startsWith('My'))
  const [single, double] = [mine.filter((name) => !name.includes("'")), mine.filter((name) => !/["$`\\!]/.test(name))]
  const expected = [
    ...mine.map((name) => `1 ${name}`),
    'My\\ Site',
    'Other',
    ...single,
    '=====',
    ...double,
    '=====',
    'none: ',
  ]
  assert.deepEqual(output.split('\n').slice(0, -1), expected)
  assert.deepEqual((await readdir(folder)).sort(), ['a file', 'a folder'])
  assert.match(
    await readFile(join(bin, 'asked'), 'utf8'),
    /^completion bash --names environments -- headland logs --env My$/m,
  )
})

test('bash shows what is known of ids where there are several, and puts the id alone into the line', async () => {
  const asked = `typed() { COMP_LINE="$*"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _headland; }
    show() { printf '%s\\n' "\${COMPREPLY[@]}"; echo =====; }
    COMP_TYPE=63; typed headland builds show 1a; show
    typed headland builds show 9; show
    COMP_TYPE=37; typed headland builds show 1a; show`
  const output = await ask('bash', `source ${join(scripts, 'bash')}\n${asked}`)
  assert.deepEqual(output.split('=====\n').slice(0, 3), [
    `1a2b3c4d  (${IDS['1a2b3c4d']})\n1a2b5e6f  (${IDS['1a2b5e6f']})\n`,
    '9c8d7e6f\n',
    '1a2b3c4d\n1a2b5e6f\n',
  ])
  assert.deepEqual((await readdir(folder)).sort(), ['a file', 'a folder'])
})

test('fish shows what is known of ids, and puts the id alone into the line', async (t) => {
  if (!(await isThere('fish'))) return t.skip('fish is not installed')
  const output = await ask('fish', `source ${join(scripts, 'fish')}\ncomplete -C'headland builds show 1a'`)
  assert.deepEqual(output.split('\n').slice(0, -1).sort(), [
    `1a2b3c4d\t${IDS['1a2b3c4d']}`,
    `1a2b5e6f\t${IDS['1a2b5e6f']}`,
  ])
  assert.deepEqual((await readdir(folder)).filter((name) => !name.startsWith('.')).sort(), ['a file', 'a folder'])
})

test('fish puts each name of the service into the line as one word, and runs none of them', async (t) => {
  if (!(await isThere('fish'))) return t.skip('fish is not installed')
  const output = await ask(
    'fish',
    `source ${join(scripts, 'fish')}\ncomplete -C'headland logs --env M'; complete -C'headland envs delete O'`,
  )
  assert.deepEqual(
    output
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split('\t')[0])
      .sort(),
    [...NAMES].sort(),
  )
  assert.match(
    await readFile(join(bin, 'asked'), 'utf8'),
    /^completion fish --names environments -- headland logs --env$/m,
  )
  assert.deepEqual((await readdir(folder)).filter((name) => !name.startsWith('.')).sort(), ['a file', 'a folder'])
})

test('fish completes the same, with descriptions', async (t) => {
  if (!(await isThere('fish'))) return t.skip('fish is not installed')
  const asked = CASES.map(([typed]) => `complete -C'${typed}'; echo =====`)
  const output = await ask('fish', `source ${join(scripts, 'fish')}\n${asked.join('\n')}`)
  const answers = answersIn(output)
  const words = answers.map((lines) => lines.map((line) => (line.split('\t')[0] ?? '').replaceAll('\\', '')).sort())
  assert.deepEqual(words, EXPECTED)
  assert.ok(answers[1]?.includes('create\tMake an app'))
  assert.ok(answers[3]?.includes(`--yes\t${TRICKY}`))
  assert.deepEqual((await readdir(folder)).filter((name) => !name.startsWith('.')).sort(), ['a file', 'a folder'])
})

/** Types into a zsh of its own and waits until a text is seen. */
const TYPED_IN_ZSH = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "autoload -Uz compinit; compinit -D -u; source $1; setopt nolistbeep; LISTMAX=1000; echo REA''DY"
zpty -r shell out '*READY*'
for typed expected in "\${@:2}"; do
  zpty -w -n shell "$typed"$'\\t\\t'
  zpty -r shell out "*$expected*" || exit 1
  zpty -w -n shell $'\\C-u'
done
zpty -d shell
echo all`

test('zsh completes the same, with descriptions', async (t) => {
  if (!(await isThere('zsh'))) return t.skip('zsh is not installed')
  const asked = [
    ['headland depl', 'deploy *-- Do something'],
    ['headland apps cr', 'apps create'],
    ['headland apps create x --r', '--region'],
    ['headland apps create x --', "yes *-- It's a \\[trap\\]: `touch ran`"],
    ['headland apps create x --region ', 'UK *US-C'],
    ['headland completion f', 'fish'],
    ['headland envs delete O', 'Other'],
    ['headland logs --env My\\ S', 'My\\\\ Site'],
    ['headland builds show 1a', '1a2b3c4d  -- FAILED, UPLOAD, *touch ran*1a2b5e6f  -- SUCC'],
    ['headland builds show 9', 'c8d7e6f'],
    ['headland logs --env "My \\$', 'touch ran'],
  ].flat()
  assert.equal(await ask('zsh', '', '-f', '-c', TYPED_IN_ZSH, 'zsh', join(scripts, 'zsh'), ...asked), 'all\n')
  assert.match(await readFile(join(bin, 'asked'), 'utf8'), /^completion zsh --names environments -- .*--env/m)
  assert.deepEqual((await readdir(folder)).filter((name) => !name.startsWith('.')).sort(), ['a file', 'a folder'])
})

test('another shell is a usage error that names those there are', () => {
  for (const shell of ['tcsh', '', 'toString']) {
    assert.throws(
      () => completion(shell, COMMANDS),
      (error) => error instanceof UsageError && /bash, zsh, fish/.test(error.message),
    )
  }
})
