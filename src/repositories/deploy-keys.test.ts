import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { checkKnownHosts, makeDeployKey, readDeployKey } from './deploy-keys.ts'

const withoutComment = (key: string) => key.trim().split(' ').slice(0, 2).join(' ')

test('ssh-keygen reads a key that was made here, and finds the same public part', async (t) => {
  const folder = await temporaryFolder(t)
  for (const comment of ['a', 'headland-app', 'headland-another-app']) {
    const { privateKey, publicKey } = makeDeployKey(comment)
    const path = join(folder, comment)
    writeFileSync(path, privateKey, { mode: 0o600 })
    assert.equal(execFileSync('ssh-keygen', ['-y', '-P', '', '-f', path], { encoding: 'utf8' }).trim(), publicKey)
    assert.equal(readDeployKey(privateKey, comment).publicKey, publicKey)
  }
})

test('a key of ssh-keygen is taken, but not with a passphrase, in another format or cut short', async (t) => {
  const folder = await temporaryFolder(t)
  const make = (name: string, ...args: string[]) => {
    execFileSync('ssh-keygen', ['-q', '-f', join(folder, name), ...args])
    return readFileSync(join(folder, name), 'utf8')
  }
  for (const kind of ['ed25519', 'ecdsa']) {
    const key = make(kind, '-t', kind, '-N', '')
    const { publicKey } = readDeployKey(key.replaceAll('\n', '\r\n'), 'x')
    assert.equal(withoutComment(publicKey), withoutComment(readFileSync(join(folder, `${kind}.pub`), 'utf8')))
    const lines = key.trim().split('\n')
    assert.throws(() => readDeployKey([lines[0], lines[1], lines.at(-1)].join('\n'), 'x'), /damaged/)
  }
  assert.throws(() => readDeployKey(make('locked', '-t', 'ed25519', '-N', 'secret'), 'x'), /passphrase/)
  assert.throws(() => readDeployKey(make('pem', '-t', 'ecdsa', '-m', 'PEM', '-N', ''), 'x'), /OpenSSH/)
  assert.throws(() => readDeployKey('', 'x'), /OpenSSH/)
})

test('known hosts are plain lines with keys', () => {
  const line = 'git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl'
  assert.equal(checkKnownHosts(`# keys\n\n ${line}  comment\r\n`), `${line}\n`)
  assert.equal(checkKnownHosts(''), '')
  for (const wrong of ['git.example.com', `@cert-authority ${line}`, `${line}\ngarbage`, 'h ssh-dss AAAA']) {
    assert.throws(() => checkKnownHosts(wrong), /knownHosts/, wrong)
  }
})
