/**
 * Code blocks that no test runs are at least well-formed: each is valid in its language, and each command of Headland,
 * each option and each setting exists.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse as parseYaml } from 'yaml'
import { CLIENT_COMMANDS } from '../src/cli/index.ts'
import { flagName } from '../src/config.ts'
import type { RuleFile } from '../src/edge/index.ts'
import { compileRules } from '../src/edge/rules/compile.ts'
import { COMMANDS } from '../src/operator/index.ts'
import { SETTINGS } from '../src/settings.ts'
import { temporaryFolder } from './support/folder.ts'
import { type Block, blocksOf, guidePages, readPage } from './support/guides.ts'

const pages = await Promise.all((await guidePages()).map(async (page) => ({ page, text: await readPage(page) })))
const blocks = pages.flatMap(({ page, text }) => blocksOf(text).map((block) => ({ page, ...block })))

const ofLanguage = (language: string) => blocks.filter((block) => block.language === language)
const at = ({ page, line }: Block & { page: string }): string => `${page}:${line}`

/** Languages of redirects and headers, and the file that a block is in; blocks of vercel.json are JSON. */
const RULE_BLOCKS: Record<string, RuleFile> = { redirects: '_redirects', headers: '_headers', toml: 'netlify.toml' }

/**
 * The languages of blocks: shell blocks are run, others are checked. Proxy configurations have a test of their own,
 * with the real proxies.
 */
const LANGUAGES = [
  'sh',
  'console',
  'json',
  'yaml',
  'js',
  'php',
  'ini',
  'crontab',
  'dns',
  'nginx',
  'caddyfile',
  ...Object.keys(RULE_BLOCKS),
  '',
]

test('every block names its language, and it is one that a test checks', () => {
  for (const block of blocks) assert.ok(LANGUAGES.includes(block.language), `${at(block)}: ${block.language}`)
})

test('every block of JSON can be parsed, and where it is a headland.json, its settings are known', () => {
  for (const block of ofLanguage('json')) {
    const keys = Object.keys(JSON.parse(block.text))
    if (keys.some((key) => Object.hasOwn(SETTINGS, key)))
      for (const key of keys) assert.ok(Object.hasOwn(SETTINGS, key), `${at(block)}: there is no setting ${key}`)
  }
})

test('every rule in a block of redirects or headers can be applied', () => {
  const written: [Block & { page: string }, RuleFile][] = [
    ...Object.entries(RULE_BLOCKS).flatMap(([language, file]) =>
      ofLanguage(language).map((block): [(typeof blocks)[number], RuleFile] => [block, file]),
    ),
    ...ofLanguage('json')
      .filter(({ text }) => /"(?:redirects|rewrites)":/.test(text))
      .map((block): [(typeof blocks)[number], RuleFile] => [block, 'vercel.json']),
  ]
  assert.ok(written.length > 0)
  for (const [block, file] of written) {
    const sources = { texts: { [file]: block.text }, basePath: '', allowedHosts: ['api.example.com'] }
    const { rules, warnings } = compileRules(sources)
    assert.ok(rules, at(block))
    assert.deepEqual(warnings, [], at(block))
  }
})

test('every block of YAML can be parsed, and holds jobs', () => {
  const found = ofLanguage('yaml').map((block) => ({ block, value: parseYaml(block.text) }))
  assert.ok(found.length > 0)
  for (const { block, value } of found) assert.equal(typeof value, 'object', at(block))
})

test('every block of JavaScript can be parsed', async (t) => {
  const folder = await temporaryFolder(t)
  for (const block of ofLanguage('js')) {
    const file = join(folder, 'block.mjs')
    await writeFile(file, block.text)
    assert.doesNotThrow(() => execFileSync(process.execPath, ['--check', file], { stdio: 'pipe' }), at(block))
  }
})

test('every block of PHP can be parsed', { skip: isOnPath('php') ? false : 'needs php' }, async (t) => {
  const folder = await temporaryFolder(t)
  for (const block of ofLanguage('php')) {
    const file = join(folder, 'block.php')
    await writeFile(file, block.text.startsWith('<?php') ? block.text : `<?php\n${block.text}`)
    assert.doesNotThrow(() => execFileSync('php', ['-l', file], { stdio: 'pipe' }), at(block))
  }
})

test('every line of a crontab has five times and a command', () => {
  const time = String.raw`(?:\*|\d+)(?:[-/,]\d+)*`
  const line = new RegExp(`^${Array(5).fill(time).join(' ')} +\\S`)
  for (const block of ofLanguage('crontab'))
    for (const each of block.text.trim().split('\n')) assert.match(each, line, at(block))
})

test('every line of a settings file is a section or a value', () => {
  for (const block of ofLanguage('ini'))
    for (const line of block.text.trim().split('\n')) assert.match(line, /^(?:\[\w+\]|[^\s=]+=.+|# .+|)$/, at(block))
})

test('every unit of systemd is one that systemd understands', {
  skip: isOnPath('systemd-analyze') ? false : 'needs systemd',
}, async (t) => {
  const folder = await temporaryFolder(t)
  const parts = ofLanguage('ini').flatMap(({ text }) => text.split(/^(?=# \/etc\/systemd)/m))
  const units = parts.flatMap((text) => {
    const [, name] = /^# \/etc\/systemd\/system\/(\S+)/.exec(text) ?? []
    return name === undefined ? [] : [{ name, text }]
  })
  assert.ok(units.length > 0)
  for (const { name, text } of units) await writeFile(join(folder, name), text)
  for (const { name } of units) {
    const options = {
      env: { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` },
      encoding: 'utf8',
      stdio: 'pipe',
    } as const
    execFileSync('systemd-analyze', ['verify', '--man=no', join(folder, name)], options)
  }
})

/** Commands without a table of their own. */
const OTHERS = ['serve', 'reload', 'config', 'doctor', 'completion'].map((name) => ({ name, options: {} }))
const settings = ['config', 'json', 'help', ...Object.keys(SETTINGS).map(flagName)]
const commands = [
  ...CLIENT_COMMANDS.map(({ name, options }) => ({ name, options: [...Object.keys(options), 'help'] })),
  ...[...COMMANDS, ...OTHERS].map(({ name, options }) => ({ name, options: [...Object.keys(options), ...settings] })),
].sort((a, b) => b.name.length - a.name.length)

/** `headland …` wherever a reader could copy it from: blocks, and code within the text. */
function mentionedIn(text: string): string[] {
  const runnable = blocksOf(text).filter(({ language }) => ['sh', 'console', 'yaml'].includes(language))
  const lines = runnable.flatMap((block) => block.text.replaceAll('\\\n', ' ').split('\n'))
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
  return [...lines, ...spans].flatMap((line) =>
    [...line.matchAll(/(?:^|[\s($|])(?:\S*bin\/|npx )?(?:headland )+([a-z][^|;&>)"]*)/g)].map(([, rest = '']) =>
      rest.trim(),
    ),
  )
}

for (const { page, text } of pages) {
  const mentioned = mentionedIn(text)
  if (mentioned.length === 0) continue
  test(`the commands on ${page} exist, with their options`, () => {
    for (const words of mentioned) {
      const command = commands.find(({ name }) => `${words} `.startsWith(`${name} `))
      assert.ok(command, `headland ${words}`)
      for (const [, option = ''] of words.matchAll(/(?<=\s)--([a-z-]+)/g))
        assert.ok(command.options.includes(option), `headland ${words}: ${command.name} has no --${option}`)
    }
  })
}

function isOnPath(command: string): boolean {
  try {
    execFileSync('which', [command], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
