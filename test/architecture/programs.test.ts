/** What the files of this repository may do to the machine. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCRIPTS } from '../../src/git/scripts.ts'
import { computedScripts, environmentReaders, shells } from '../support/architecture/programs.ts'
import { sourcesIn } from '../support/architecture/tree.ts'

const service = await sourcesIn('src')
const everything = await sourcesIn('src', 'bin', 'bench', 'test', 'scripts', 'torture')

test('only config.ts reads process.env', () => {
  assert.deepEqual(environmentReaders(service), [])
  assert.match(service.find(({ path }) => path === 'src/config.ts')?.text ?? '', /process\.env/)
})

test('a shell gets constant scripts and no other text', () => {
  assert.deepEqual(shells(everything), [])
  assert.deepEqual(computedScripts(service), [])
  for (const script of Object.values(SCRIPTS)) assert.doesNotMatch(script, /\beval\b|\bsh -c\b/)
})

const READS_ENVIRONMENT = [
  'const home = process.env.HOME',
  'const { HOME } = process.env',
  "const home = process['env'].HOME",
  'const { env, argv } = process',
  'const home = globalThis.process?.env',
  "import { env } from 'node:process'",
]

for (const text of READS_ENVIRONMENT) {
  test(`the rules complain about a module that reads the environment by: ${text}`, () => {
    assert.equal(environmentReaders([{ path: 'src/apps/apps.ts', text }]).length, 1)
    assert.deepEqual(environmentReaders([{ path: 'src/config.ts', text }]), [])
  })
}

test('the rules let a module speak of the environment without reading it', () => {
  const text = `// process.env\nfork(file, { env: {} })\nconst text = 'process.env'\nprocess.exit()`
  assert.deepEqual(environmentReaders([{ path: 'src/apps/apps.ts', text }]), [])
})

const STARTS_SHELL = [
  "import { exec } from 'node:child_process'",
  "import { spawn, execSync as run } from 'node:child_process'",
  "import { type ChildProcess, exec } from 'child_process'",
  "import * as child from 'node:child_process'",
  "import child from 'node:child_process'",
  "const child = await import('node:child_process')",
  "const { exec } = await import('node:child_process')",
  "const child = require('child_process')",
  "spawn('ls', [], { shell: true })",
  "spawn('ls', [], { 'shell': true })",
  "spawn('ls', [], { shell: '/bin/sh' })",
]

for (const text of STARTS_SHELL) {
  test(`the rules complain about a shell started by: ${text}`, () => {
    for (const path of ['src/apps/apps.ts', 'bin/headland', 'bench/run.ts', 'test/e2e/some.test.ts']) {
      const violations = shells([{ path, text }])
      assert.equal(violations.length, 1, violations.join('\n'))
      assert.ok(violations[0]?.startsWith(`${path} `))
    }
  })
}

test('the rules let a program be started with a list of arguments', () => {
  const text = `#!/usr/bin/env node
import { type ChildProcess, execFile, spawn } from 'node:child_process'
const found = /shell: true/.exec('shell: true')
spawn('ls', ['-l'], { shell: false })`
  assert.deepEqual(shells([{ path: 'src/apps/apps.ts', text }]), [])
})

const COMPUTED = [
  "spawn('sh', ['-c', script])",
  "const argv = ['/bin/sh', '-c', `echo $0` + name]",
  "spawn('sh', ['-c', SET_UP + name])",
]

for (const text of COMPUTED) {
  test(`the rules complain about a script that is not a constant: ${text}`, () => {
    assert.equal(computedScripts([{ path: 'src/apps/apps.ts', text }]).length, 1)
  })
}

test('the rules allow a constant script that gets its input as arguments', () => {
  const text = `spawn('sh', ['-c', 'echo "$0"', name])\nspawn('/bin/sh', ['-c', SET_UP, 'sh', ...steps])\nspawn('/bin/sh', ['-c', SCRIPTS[step], 'sh'])`
  assert.deepEqual(computedScripts([{ path: 'src/apps/apps.ts', text }]), [])
})
