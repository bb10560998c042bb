import assert from 'node:assert/strict'
import { chmod, mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Scope, temporaryFolder } from '../../test/support/folder.ts'
import { testPlain, testSandbox } from '../../test/support/machine/engine.ts'
import { type Engine, type Job, runToEnd } from './engine.ts'
import { loginEnvironment } from './login.ts'

const user = process.getuid?.() === 0 ? { uid: 210_001, gid: 210_001 } : undefined

async function openFolder(t: Scope): Promise<string> {
  const folder = await realpath(await temporaryFolder(t))
  await chmod(folder, 0o755)
  return folder
}

/** What a program that is no shell finds: a shell would set some of it itself. */
async function environmentSeen(engine: Engine, job: Omit<Job, 'argv' | 'user'>): Promise<Record<string, string>> {
  let text = ''
  const { code } = await runToEnd(
    engine,
    { ...job, argv: ['/usr/bin/env'], user },
    (_stream, chunk) => {
      text += chunk
    },
    new AbortController().signal,
  )
  assert.equal(code, 0, text)
  return Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s, 2)),
  )
}

test('a program in a sandbox finds what a login shell sets, and the folder that it is in', async (t) => {
  const folder = await openFolder(t)
  await mkdir(join(folder, 'web'))
  const mounts = [{ from: folder, to: '/app', isWritable: false }]
  const seen = await environmentSeen(await testSandbox(), { cwd: '/app/web', environment: { A: '1' }, mounts })
  assert.deepEqual(seen, {
    A: '1',
    PWD: '/app/web',
    SHLVL: '1',
    USER: 'app',
    LOGNAME: 'app',
    SHELL: '/bin/sh',
    TERM: 'dumb',
    LANG: 'C.UTF-8',
  })
})

test('without a sandbox the folder is named as the machine knows it', async (t) => {
  const folder = await openFolder(t)
  const mounts = [{ from: folder, to: '/app', isWritable: false }]
  const { PWD } = await environmentSeen(testPlain(), { cwd: '/app', environment: {}, mounts })
  assert.equal(PWD, folder)
})

test('a value of the job wins over what a shell leaves to its user, and not over what is true', () => {
  const given = { LANG: 'de_DE.UTF-8', TERM: 'xterm', USER: 'me', PWD: '/elsewhere', OLDPWD: '/', SHLVL: '7' }
  const { LANG, TERM, USER, LOGNAME, PWD, OLDPWD, SHLVL } = loginEnvironment(given, '/app')
  assert.deepEqual([LANG, TERM, USER, LOGNAME], ['de_DE.UTF-8', 'xterm', 'me', 'app'])
  assert.deepEqual([PWD, OLDPWD, SHLVL], ['/app', undefined, '1'])
})
