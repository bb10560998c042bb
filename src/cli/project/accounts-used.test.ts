import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Scope, temporaryFolder } from '../../../test/support/folder.ts'
import { type OptionValues, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { createSavedLogins } from '../connection/saved-logins.ts'
import { createService } from '../connection/service.ts'
import { Interrupted } from '../output/terminal.ts'
import { makeSureOfAccount } from './accounts-used.ts'

const URL = 'https://headland.example.com'

type Given = {
  options?: OptionValues
  answer?: string
  isNamedByFile?: boolean
  isCredentialGiven?: boolean
  url?: string
}

/** One user, with the configuration folder of earlier commands. */
async function person(t: Scope) {
  const configFolder = await temporaryFolder(t)
  const messages: string[] = []
  const send = ({ options = {}, answer, isNamedByFile = true, isCredentialGiven = false, url = URL }: Given = {}) => {
    const terminal = {
      isInteractive: answer !== undefined,
      say: (text: string) => messages.push(text),
      ask: async () => answer ?? assert.fail('no question is expected'),
    }
    return makeSureOfAccount({ options, terminal, environment: { configFolder } } as unknown as ClientCall, {
      service: createService(url, undefined),
      account: 'acme',
      project: isNamedByFile ? { account: 'acme' } : {},
      isCredentialGiven,
    })
  }
  return { send, messages, configFolder, logins: createSavedLogins(configFolder) }
}

test('the first time that something goes to the account of a file is confirmed, and the answer remembered', async (t) => {
  const { send, messages, configFolder } = await person(t)
  for (const answer of ['', 'n', 'yes please']) await assert.rejects(send({ answer }), Interrupted)
  await send({ answer: 'y' })
  assert.match(
    messages.join('\n'),
    /names the account acme of https:\/\/headland\.example\.com, to which you have sent nothing/,
  )
  await send()
  const saved = JSON.parse(await readFile(join(configFolder, 'headland/logins.json'), 'utf8'))
  assert.deepEqual(saved.accounts, { [URL]: ['acme'] })
  await assert.rejects(
    send({ url: 'https://other.example.com' }),
    UsageError,
    'the same name elsewhere is another account',
  )
})

test('without a terminal the flag is required, and --yes does not replace it', async (t) => {
  const { send } = await person(t)
  await assert.rejects(send(), /add --account acme if that is meant/)
  await assert.rejects(send({ answer: 'y', options: { yes: true } }), /add --account acme/)
  await send({ options: { account: 'acme' } })
  await send()
})

test('an account that no file named is chosen by the user, now and for later', async (t) => {
  const { send, logins } = await person(t)
  await send({ isNamedByFile: false })
  await send()
  await logins.forget(URL)
  await assert.rejects(send(), UsageError, 'a log-out forgets it')
})

test('a credential in the environment is for one account, and needs no answer and leaves no trace', async (t) => {
  const { send, logins } = await person(t)
  await send({ isCredentialGiven: true })
  assert.equal(await logins.isConfirmed(URL, 'acme'), false)
})
