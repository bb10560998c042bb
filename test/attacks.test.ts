/** Keeps the page of attacks up to date: each row names an existing test, and no required attack is missing. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

const TOP = join(import.meta.dirname, '..')

/** Known attacks. A row that is removed from the page must be removed here as well. */
const ATTACKS = [
  'Shell characters in a name or a variable key',
  'Shell characters where they are allowed: titles, folders, files, values',
  'Names of apps that differ in case only',
  "Another account's resource by its id, on every route",
  'Zip slip: names with `..`, absolute ones, drive letters, back-slashes, NUL',
  'Links in an archive that lead out of it, or through which something is written',
  'Bombs',
  'Headers that lie about sizes, names or places',
  '100,000 empty entries',
  'Names in an archive that differ in case or Unicode form only',
  'Guesses at webhooks',
  'Timing of guesses at webhooks',
  'Replays of webhooks after they were regenerated or deleted',
  "The log, or the stream, of another account's build",
  'Values of variables in logs, errors, metrics, process lists, files',
  'Tokens of webhooks in logs, errors, metrics, process lists, files',
  'Passwords in logs and errors',
  'Calls from a build to the service, this machine, a neighbour, the metadata of a cloud',
  "Calls from an app to the service or to another app's port",
  'Loopback and metadata in other spellings: numbers, mapped addresses, IPv6',
  'Calls to loopback services, link-local and private addresses',
  'A firewall of a node that another program flushes, changes or switches off',
  'Packets with the address of an edge from an app of a cluster',
  'Spoofed forwarding headers',
  'Request smuggling: two lengths, bad chunks, bare LF, and eighty more',
  'A request behind one that was refused, in the same packet',
  'Cache poisoning by headers that are not part of the key',
  'Cache poisoning by headers of frameworks',
  'Cache poisoning by a `Connection` header that takes others away',
  'Host tricks',
  "A page stored with a visitor's authorization, or with a cookie",
  'Script in log lines',
  'Script in names',
  'A build that forks without end',
  'A build that fills the disk',
  'A build that fills memory',
  'A build that ignores SIGTERM',
  'A build that leaves children behind',
  'Slow clients: a head that never ends',
  'Slow uploads',
  'First-boot secrets that are a default',
  'Links, loops, whiteouts and swapped files in an output, so that a mount lands on something of ours',
  'A first program in the sandbox that is root',
  'Capabilities that are left over, in any set',
  'Paths of the machine in `/proc/1/cmdline` and in the options of mounts',
  'A build that asks for thousands of names and calls thousands of ports',
  'A small upload with a lockfile of hundreds of megabytes',
  'Null and other odd entries anywhere in a lockfile',
  'A lockfile whose paths lead out of the app, to find out what the host has',
  'Empty files without end, by a build',
  'Empty files without end, kept by many builds',
  'Variables with a hundred thousand lines, so that cleaning a log takes all the time there is',
  'An app that floods its log',
  'Streams of logs and events without end, by one credential',
  'Two static sites of 150,000 files, asked in turn',
  'A trace of a site with very many files',
  'A site whose visitors ask for all its small files',
  'Requests for an app that never comes up, to keep others asleep',
  'One account fills the build queue for all others',
  'Thousands of waiting operations that make every claim slow',
  'Archives that are sent to be validated, to fill the disk',
  'Guesses that lock a user out',
  'An address of IPv6 for each guess',
  'A flood of log-ins',
  "A session cookie planted by a tenant's site, under a name that begins with U+00A0",
  'A user made a member of a hostile account',
  'A backup that was altered: rows of its database, and a list that is right',
  'Modes and owners in a backup that open the data folder',
  'Views and triggers in a restored database',
  'A restored database that never answers',
  'A stored user that is root',
  'A repository whose ignore rules include secrets of the person who deploys it',
  'A project that names an account of another person',
  'A link where the command line writes a file',
  'A project file of another user in a folder above',
  'Paths in the names of a project file',
  'Terminal escapes and forged lines in whatever a service answers, in every command',
  "WordPress: a site's administrator who types a private address",
  'Secrets in a folder that is dropped on the portal',
  'A certificate that is uploaded for names of another account',
  'Uploaded certificates and keys that are broken, huge, weak or do not belong together',
  'Private keys of certificates in the database file',
  'Names that lead to internal addresses, so that the service asks there',
  'Hundreds of names of one account, to use up what a CA issues',
]

type Row = { attack: string; happens: string; file: string; name: string; cases: string[] }

/** A row is `| attack | what happens | \`file\`: \`test\`, as \`case\` |`. */
function rowsIn(markdown: string): Row[] {
  const lines = markdown.split('\n')
  const start = lines.findIndex((line) => line.startsWith('|---')) + 1
  return lines.slice(start, lines.indexOf('', start)).map((line) => {
    const [, attack = '', happens = '', tests = ''] = /^\| (.+?) \| (.+?) \| (.+) \|$/.exec(line) ?? []
    const [file = '', name = '', ...cases] = [...tests.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)
    return { attack, happens, file, name, cases }
  })
}

/** The names of the tests in a file, with any kind of quotes. */
const namesIn = (source: string): string[] =>
  [...source.matchAll(/\btest\(\s*(?:'((?:[^'\\]|\\.)+)'|"((?:[^"\\]|\\.)+)"|`((?:[^`\\]|\\.)+)`)/g)].map(
    ([, single, double, template]) => (single ?? double ?? template ?? '').replaceAll(/\\(.)/g, '$1'),
  )

const rows = rowsIn(await readFile(join(TOP, 'docs/operate/attacks.md'), 'utf8'))

test('every attack has a row, and no attack has two', () => {
  const named = rows.map(({ attack }) => attack)
  assert.deepEqual(
    ATTACKS.filter((attack) => !named.includes(attack)),
    [],
  )
  assert.equal(new Set(named).size, named.length)
  for (const { attack, happens } of rows) assert.ok(attack !== '' && happens !== '', 'a row has three cells')
})

test('every row names an existing test', async () => {
  for (const { attack, file, name, cases } of rows) {
    const source = await readFile(join(TOP, file), 'utf8')
    assert.ok(namesIn(source).includes(name), `${attack}: ${file} has no test named ${name}`)
    for (const each of cases) assert.ok(source.includes(`'${each}'`), `${attack}: ${file} has nothing named ${each}`)
    assert.equal(cases.length > 0 && !name.includes('${'), false, `${attack}: a test without a list has no entries`)
  }
})

test('a missing test, or a call that is no test, is not found', () => {
  const lines = [
    "test('one', () => {})",
    `  test(\`two of \${n}\`, async (t) => {})`,
    'test("it\'s", {}, f)',
    "note('three')",
  ]
  assert.deepEqual(namesIn(lines.join('\n')), ['one', `two of \${n}`, "it's"])
})

test('no page of the portal makes markup of text', async () => {
  const folder = join(TOP, 'portal/src')
  const files = (await readdir(folder, { recursive: true })).filter((name) => /\.(?:tsx?|html)$/.test(name))
  assert.ok(files.length > 20)
  for (const name of files) {
    const found =
      /dangerouslySetInnerHTML|(?:inner|outer)HTML|insertAdjacentHTML|document\.write|srcdoc|javascript:|\beval\(|new Function\(/i
    assert.doesNotMatch(await readFile(join(folder, name), 'utf8'), found, name)
  }
})
