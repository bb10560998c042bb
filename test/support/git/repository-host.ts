/**
 * A git server on an address that builds reach: Debian's git over HTTPS, with a token as Basic credentials and the calls for commit
 * statuses beside it, and over ssh, with a process of sshd of its own.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { request as ask, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type Scope, temporaryFolder } from '../folder.ts'
import { until } from '../until.ts'
import { startStatusServer } from './status-server.ts'

const run = promisify(execFile)

export type RepositoryHost = Awaited<ReturnType<typeof startRepositoryHost>>

export async function startRepositoryHost(t: Scope, { address, token }: { address: string; token: string }) {
  const folder = await temporaryFolder(t)
  const root = join(folder, 'root')
  const bare = join(root, 'acme', 'site.git')
  const work = join(folder, 'work')
  const git = async (cwd: string, ...args: string[]) => {
    const who = ['-c', 'user.name=Ada Lovelace', '-c', 'user.email=ada@example.com', '-c', 'safe.directory=*']
    const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1' }
    return (await run('git', [...who, ...args], { cwd, env })).stdout.trim()
  }
  await mkdir(dirname(bare), { recursive: true })
  await git(folder, 'init', '-q', '--bare', '-b', 'main', bare)
  await git(folder, 'init', '-q', '-b', 'main', work)

  const certificate = join(folder, 'cert.pem')
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30']
  const names = ['-subj', '/CN=git', '-addext', `subjectAltName=IP:${address}`]
  await run('openssl', ['req', '-x509', ...newKey, ...names, '-keyout', join(folder, 'key.pem'), '-out', certificate])
  const tls = { key: await readFile(join(folder, 'key.pem')), cert: await readFile(certificate) }

  const statuses = await startStatusServer({ token, repository: 'acme/site' })
  t.after(() => statuses.close())
  const server = createServer(tls, (request, response) => {
    if (request.url?.startsWith('/api/')) return pass(request, response, statuses.url)
    if (request.url?.startsWith('/told/')) return answerWhenTold(request.url, response)
    const basic = (request.headers.authorization ?? '').replace(/^Basic /, '')
    const [, password] = Buffer.from(basic, 'base64').toString().split(':')
    if (password !== token) {
      // Some servers send back what they were given.
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end(`wrong: ${password}`)
      return
    }
    runBackend(root, request, response)
  })
  /** `/told/GITLAB/pending` is answered when the provider was told so: a build that asks for it ends after that. */
  async function answerWhenTold(path: string, response: ServerResponse) {
    const [, , provider, state] = path.split('/')
    const isTold = () => statuses.received.some((one) => one.provider === provider && one.state === state)
    await until(isTold, path).catch((error) => response.writeHead(500).end(String(error)))
    response.end()
  }

  server.listen(0, address)
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo

  /** A commit with these files and no others, in the repository. Resolves to its id. */
  async function commit(files: Record<string, string>, subject: string, branch = 'main'): Promise<string> {
    await git(work, 'checkout', '-q', '-B', branch)
    await git(work, 'rm', '-rfq', '--ignore-unmatch', '.')
    for (const [name, text] of Object.entries(files)) await writeFile(join(work, name), text)
    await git(work, 'add', '-A')
    await git(work, 'commit', '-q', '--allow-empty', '-m', subject)
    await git(work, 'push', '-q', '-f', bare, `${branch}:${branch}`)
    return git(work, 'rev-parse', 'HEAD')
  }

  return {
    url: `https://${address}:${port}/acme/site.git`,
    place: `${address}:${port}`,
    certificate,
    statuses,
    commit,
    bare,
  }
}

/** What `git http-backend` says as a program of CGI. */
function runBackend(root: string, request: IncomingMessage, response: ServerResponse) {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'https://host')
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      PATH_INFO: pathname,
      QUERY_STRING: searchParams.toString(),
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_USER: 'someone',
      REMOTE_ADDR: request.socket.remoteAddress ?? '',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  request.pipe(backend.stdin)
  let head = Buffer.alloc(0)
  let isBody = false
  backend.stdout.on('data', (chunk: Buffer) => {
    if (isBody) return response.write(chunk)
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    isBody = true
    const headers = head.subarray(0, end).toString().split('\r\n')
    const fields = headers.map((line) => line.split(/: ?(.*)/s) as [string, string])
    const status = fields.find(([name]) => name.toLowerCase() === 'status')?.[1]
    response.writeHead(Number.parseInt(status ?? '200', 10), Object.fromEntries(fields))
    return response.write(head.subarray(end + 4))
  })
  backend.stdout.on('end', () => response.end())
}

function pass(request: IncomingMessage, response: ServerResponse, to: string) {
  const { hostname, port } = new URL(to)
  const { method = 'GET', url: path = '/', headers } = request
  const passed = ask({ hostname, port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(response)
  })
  request.pipe(passed)
}

/** A server of ssh for one key that may read. */
export async function startSshHost(t: Scope, { address, port }: { address: string; port: number }) {
  const folder = await temporaryFolder(t)
  const authorized = join(folder, 'authorized_keys')
  const hostKey = join(folder, 'host_key')
  await writeFile(authorized, '')
  // Where sshd keeps its processes apart; it does not start without.
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
  let server: ReturnType<typeof spawn> | undefined

  async function start() {
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', hostKey])
    const settings = {
      Port: port,
      ListenAddress: address,
      HostKey: hostKey,
      AuthorizedKeysFile: authorized,
      PidFile: 'none',
      UsePAM: 'no',
      StrictModes: 'no',
      PasswordAuthentication: 'no',
      KbdInteractiveAuthentication: 'no',
      PermitRootLogin: 'yes',
    }
    const args = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
    server = spawn('/usr/sbin/sshd', ['-D', '-e', '-f', '/dev/null', ...args], { stdio: 'ignore' })
    await until(() => answers(address, port), `sshd listens at ${address}:${port}`)
  }

  async function stop() {
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    server.kill()
    await once(server, 'exit')
  }

  await start()
  t.after(stop)
  return {
    allow: (publicKey: string) =>
      writeFile(authorized, `restrict,command="git-shell -c \\"$SSH_ORIGINAL_COMMAND\\"" ${publicKey}\n`),
    /** As another server at the same address would. */
    async changeKey() {
      await stop()
      await rm(hostKey)
      await rm(`${hostKey}.pub`)
      await start()
    },
  }
}

const answers = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port })
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
