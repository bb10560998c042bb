/** Against a server that takes the part of an attacker in the line. A real mail server is in the tests of the whole service. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { handClock } from '../../../test/support/clock.ts'
import type { Scope } from '../../../test/support/folder.ts'
import { Secret } from '../../base/index.ts'
import { LIMITS } from '../../contract/index.ts'
import { createMailSender } from './mail.ts'

/** Speaks SMTP without TLS, and records what it gets. */
async function startPlain(t: Scope) {
  const lines: string[] = []
  const server = createServer((socket) => {
    socket.write('220 mail.example.com\r\n')
    socket.setEncoding('utf8').on('error', () => undefined)
    socket.on('data', (text: string) => {
      lines.push(text)
      socket.write(/^EHLO/.test(text) ? '250-mail.example.com\r\n250 AUTH PLAIN\r\n' : '502 no\r\n')
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, lines }
}

const mail = { id: 'a', accountId: 'b', to: ['team@example.org'], subject: 'c', text: 'd' }

test('where TLS is required, a server that does not offer it gets neither the password nor the message', async (t) => {
  const { port, lines } = await startPlain(t)
  const password = new Secret('very-secret')
  const login = { from: 'a@example.com', user: 'headland', password, isTlsFromStart: false, ca: 'a CA' }
  const send = createMailSender({ clock: handClock(), server: { host: '127.0.0.1', port, ...login } })
  const { isDelivered, mayPass } = await send(mail)
  assert.deepEqual([isDelivered, mayPass], [false, true])
  assert.doesNotMatch(lines.join(''), /AUTH|MAIL FROM|very-secret/)
  assert.match(lines.join(''), /EHLO/)
})

test('an account that sends too many e-mails waits', async (t) => {
  const { port, lines } = await startPlain(t)
  const server = {
    host: '127.0.0.1',
    port,
    from: 'a@example.com',
    user: '',
    password: undefined,
    isTlsFromStart: false,
  }
  const send = createMailSender({ clock: handClock(), server: { ...server, ca: undefined } })
  const to = Array.from({ length: LIMITS.emailsAnHour }, (_, at) => `team${at}@example.org`)
  assert.equal((await send({ ...mail, to })).isPostponed, undefined)
  const before = lines.length
  const { isPostponed, pauseMs = 0 } = await send(mail)
  assert.deepEqual([isPostponed, pauseMs > 0, lines.length], [true, true, before])
  assert.equal((await send({ ...mail, accountId: 'another' })).isPostponed, undefined)
})
