/**
 * Logs in, and saves the log-in. A user of the portal gets a session, which expires; an API credential is saved as it is. A
 * log-in is saved only after the service has accepted it.
 */
import { type Session, textOf } from '../../client/index.ts'
import { names, optionText, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { CallFailed, notAHeadland } from '../connection/failures.ts'
import { isThisMachine } from '../connection/proxy.ts'
import { createSavedLogins, isExpired, serviceUrl } from '../connection/saved-logins.ts'
import { type Authorization, createService } from '../connection/service.ts'
import { oneLine } from '../output/rows.ts'
import { findProject, PROJECT_FILE } from '../project/project-file.ts'
import { accountsOf, lastPart } from '../project/where.ts'
import { askText } from '../questions.ts'

const MAX_SESSION_BYTES = 64 * 1024
const CREDENTIAL = new RegExp(String(names.credentialId.pattern))

export async function login(call: ClientCall): Promise<undefined> {
  const { terminal, options, environment } = call
  const logins = createSavedLogins(environment.configFolder)
  const url = serviceUrl(await whichService(call))
  warnOfPlainText(call, url)
  const user = optionText(options, 'user') ?? (await askUser(call))
  if (!user.includes('@') && !CREDENTIAL.test(user)) {
    throw new UsageError(`'${user}' is neither an e-mail address nor the user id of an API credential`)
  }
  const password = options['password-stdin'] ? await firstLineOfStdin() : await askPassword(call)

  const authorization: Authorization = user.includes('@')
    ? await openSession(call, url, user, password)
    : { userId: user, password }
  const service = createService(url, authorization, { proxies: environment.proxies })
  const accounts = await accountsOf(service)
  await logins.save(url, authorization)
  // A credential is for one account, so the user has chosen that account.
  const [only] = accounts
  if ('userId' in authorization && accounts.length === 1 && only) await logins.confirm(url, lastPart(only))

  const expireTime = 'cookie' in authorization ? authorization.expireTime : undefined
  if (options.json) {
    terminal.print(JSON.stringify({ url, user, accounts, ...(expireTime ? { expireTime } : {}) }))
    return
  }
  const roles =
    accounts.map((account) => `${oneLine(lastPart(account))} (${oneLine(account.role)})`).join(', ') || 'no account yet'
  terminal.say(`${terminal.paint('green', 'Logged in')} to ${url} as ${oneLine(user)}: ${roles}.`)
  if (expireTime) terminal.say(`It holds until ${expireTime}; for longer, use an API credential.`)
  terminal.say(`Saved in ${logins.file}, readable only by you.`)
}

export async function logout(call: ClientCall): Promise<undefined> {
  const { terminal, options, environment, positionals } = call
  const logins = createSavedLogins(environment.configFolder)
  const given = positionals[0] ?? environment.url ?? (await findProject(call))?.project.url ?? (await logins.last())
  const url = given === undefined ? undefined : serviceUrl(given)
  const saved = url === undefined ? undefined : await logins.of(url)
  if (url === undefined || !saved) throw new UsageError(`you are not logged in${url ? ` to ${url}` : ''}`)
  // Removed here first, whatever the service answers.
  await logins.forget(url)
  const isEnded = 'cookie' in saved && !isExpired(saved) && (await endSession(call, url, saved))
  if (options.json) terminal.print(JSON.stringify({ url }))
  else if ('cookie' in saved && !isEnded)
    terminal.say(`Logged out of ${url} here; the session there is over or was not reached.`)
  else terminal.say(`Logged out of ${url}.`)
}

async function whichService(call: ClientCall): Promise<string> {
  const { terminal, positionals, environment } = call
  const given = positionals[0] ?? environment.url
  if (given !== undefined) return given
  const named = (await findProject(call))?.project.url
  const known = named ?? (await createSavedLogins(environment.configFolder).last())
  if (terminal.isInteractive) {
    if (named)
      terminal.say(`${PROJECT_FILE} names ${serviceUrl(named)}. Your password is sent to the address that you give.`)
    return askText(terminal, 'Address of the service', known)
  }
  throw new UsageError('which service? headland login URL, as in https://headland.example.com')
}

function askUser({ terminal }: ClientCall): Promise<string> {
  if (terminal.isInteractive) return askText(terminal, 'E-mail address, or user id of an API credential')
  throw new UsageError('--user is required without a terminal')
}

async function askPassword({ terminal }: ClientCall): Promise<string> {
  if (!terminal.isInteractive) throw new UsageError('--password-stdin is required without a terminal')
  const password = await terminal.ask('Password: ', { isHidden: true })
  if (password === '') throw new UsageError('the password is empty')
  return password
}

async function firstLineOfStdin(): Promise<string> {
  let text = ''
  for await (const piece of process.stdin.setEncoding('utf8')) {
    text += piece
    if (text.includes('\n') || text.length > 10_000) break
  }
  const [line = ''] = text.split(/\r?\n/)
  if (line === '') throw new UsageError('stdin has no password')
  return line
}

/** The name and value of the session cookie are what later requests have to send. */
async function openSession(
  { environment: { proxies } }: ClientCall,
  url: string,
  email: string,
  password: string,
): Promise<Authorization> {
  const response = await createService(url, undefined, { proxies }).client.ask('POST /v1/session', {
    body: { email, password },
  })
  const [cookie] = (response.headers.getSetCookie()[0] ?? '').split(';')
  const { expireTime } = await sessionIn(response)
  if (!cookie?.includes('=') || !Number.isFinite(Date.parse(expireTime))) throw notAHeadland(url)
  return { cookie, expireTime }

  async function sessionIn(response: Response): Promise<Session> {
    try {
      return JSON.parse(await textOf(response, MAX_SESSION_BYTES))
    } catch {
      throw notAHeadland(url)
    }
  }
}

async function endSession({ environment: { proxies } }: ClientCall, url: string, saved: Authorization) {
  const signal = AbortSignal.timeout(10_000)
  try {
    await createService(url, saved, { proxies }).client.call('DELETE /v1/session', { signal })
    return true
  } catch (error) {
    if (error instanceof CallFailed || (error as Error).name === 'TimeoutError') return false
    throw error
  }
}

function warnOfPlainText({ terminal }: ClientCall, url: string) {
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:' || isThisMachine(hostname)) return
  terminal.say(
    `${terminal.paint('yellow', 'warning')}  ${url} is not encrypted: others on the network can read the password.`,
  )
}
