/**
 * A real mail server on the loopback, Debian's Exim: it takes mail over STARTTLS only, and puts it into a folder. OpenSMTPD of
 * Debian 12 cannot: its TLS fails with the OpenSSL that it is built with, whatever the key. Only root can start one.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { makeCertificate } from '../edge/tls.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { until } from '../until.ts'

const EXIM = '/usr/sbin/exim4'

/** `nobody` and `nogroup` of Debian. */
const NOBODY = 65_534

/** Why there is none, for tests that are skipped. */
export const NO_MAIL_SERVER =
  process.getuid?.() === 0 && existsSync(EXIM) ? false : 'it needs root and the Debian package exim4-daemon-light'

export async function startMailServer(t: Scope) {
  const folder = await temporaryFolder(t)
  const [spool, mail] = [join(folder, 'spool'), join(folder, 'mail')]
  const { key, cert } = await makeCertificate(t, { names: ['localhost'] })
  await writeFile(join(folder, 'key.pem'), key)
  await writeFile(join(folder, 'certificate.pem'), cert)
  for (const place of [spool, mail]) await mkdir(place)
  for (const place of [folder, spool, mail]) {
    await chown(place, NOBODY, NOBODY)
    await chmod(place, 0o755)
  }
  await chown(join(folder, 'key.pem'), NOBODY, NOBODY)
  const port = await freePort()
  await writeFile(join(folder, 'exim.conf'), configuration(folder, port), { mode: 0o644 })
  const server = spawn(EXIM, ['-bdf', '-C', join(folder, 'exim.conf')], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  server.stderr.setEncoding('utf8').on('data', (text) => {
    log += text
  })
  t.after(async () => {
    server.kill('SIGTERM')
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
  })
  await until(async () => {
    if (server.exitCode !== null) throw new Error(`the mail server did not start: ${log}`)
    return isOpen(port)
  })

  return {
    port,
    certificateFile: join(folder, 'certificate.pem'),
    /** What has arrived. */
    async messages(): Promise<string[]> {
      const names = await readdir(join(mail, 'new')).catch(() => [])
      return Promise.all(names.map((name) => readFile(join(mail, 'new', name), 'utf8')))
    },
  }
}

/** Takes mail for everyone but `refused`. */
const configuration = (folder: string, port: number): string => `
keep_environment =
exim_user = nobody
exim_group = nogroup
spool_directory = ${folder}/spool
log_file_path = ${folder}/spool/log-%s
primary_hostname = localhost
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${port}
host_lookup =
rfc1413_query_timeout = 0s
tls_advertise_hosts = *
tls_certificate = ${folder}/certificate.pem
tls_privatekey = ${folder}/key.pem
acl_smtp_mail = sender
acl_smtp_rcpt = recipient
acl_smtp_data = message
begin acl
sender:
  deny !encrypted = *
       message = TLS is required
  accept
recipient:
  deny local_parts = refused
       message = no such mailbox
  accept
message:
  accept
begin routers
all:
  driver = accept
  transport = folder
begin transports
folder:
  driver = appendfile
  directory = ${folder}/mail
  maildir_format
  envelope_to_add
  user = nobody
  group = nogroup
`

/** It cannot be told to choose one itself. */
async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
