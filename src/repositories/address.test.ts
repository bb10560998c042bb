import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkBranch, readAddress } from './address.ts'

test('an address is spelled in one way, however it was given', () => {
  const ways: [given: string, url: string][] = [
    ['https://GitHub.com/acme/site.git/', 'https://github.com/acme/site.git'],
    ['https://git.example.com:8443/acme/site', 'https://git.example.com:8443/acme/site'],
    ['git@github.com:acme/site.git', 'ssh://git@github.com/acme/site.git'],
    ['github.com:acme/site.git', 'ssh://git@github.com/acme/site.git'],
    ['ssh://git@github.com:22/acme/site.git', 'ssh://git@github.com/acme/site.git'],
    ['ssh://deploy@git.example.com:2222/~me/site.git', 'ssh://deploy@git.example.com:2222/~me/site.git'],
  ]
  for (const [given, url] of ways) assert.equal(readAddress(given).url, url)
})

test('another transport, a secret, an option or a way out is refused', () => {
  const wrong = [
    'http://github.com/acme/site.git',
    'file:///etc',
    '/srv/git/site.git',
    'git://github.com/acme/site.git',
    'ext::sh -c touch% /tmp/x',
    'ext://sh',
    '--upload-pack=touch /tmp/x',
    '-oProxyCommand=x:acme/site',
    'ssh://-oProxyCommand=x/acme/site',
    'ssh://-x@host/acme/site',
    'git@host:-acme/site.git',
    'https://user:password@github.com/acme/site.git',
    'https://ghp_token@github.com/acme/site.git',
    'ssh://git:password@github.com/acme/site.git',
    'https://github.com/a%0ab/site',
    'https://github.com/acme/site?token=x',
    'https://github.com',
    '',
  ]
  for (const url of wrong) assert.throws(() => readAddress(url), /url/, url)
})

test('a branch has a name that git allows', () => {
  for (const right of ['main', 'feature/new', 'v1.2', 'ümlaut']) assert.equal(checkBranch(right), right)
  const wrong = [
    '-x',
    'a..b',
    'a b',
    'a~1',
    'a:b',
    '.a',
    'a/.b',
    'a.lock',
    'a/',
    '/a',
    '@',
    'a@{1}',
    'a\\b',
    'a\nb',
    'a.',
  ]
  for (const branch of wrong) assert.throws(() => checkBranch(branch), /branch/, branch)
})
