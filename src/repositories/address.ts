/**
 * The address of a repository. Only https and ssh are taken: git knows transports that run programs or read files of this machine.
 * What could be an option of git or ssh is refused, and so is a secret, which would be shown.
 */
import { fieldInvalid, LIMITS } from '../contract/index.ts'

export type Address = {
  /** Spelled in one way. */
  url: string
  transport: 'https' | 'ssh'
  host: string
}

/** `git@github.com:acme/site.git`, as git itself reads it: a colon before the first slash. */
const SCP = /^(?:([\w.-]+)@)?([a-z0-9.-]+):(?!\/\/)\/?(.+)$/i
/** Every part begins with a letter, a digit, a dot, an underscore or a tilde: with a dash it could be an option. */
const PATH = /^(?:\/[\w.~+%@][\w.~+%@-]*)+\/?$/
const USER = /^[a-z_][\w.-]*$/i
const HOST = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])$/i

export function readAddress(text: string): Address {
  const given = text.trim()
  const [, user = 'git', host, path] = given.includes('://') ? [] : (SCP.exec(given) ?? [])
  if (host !== undefined && path !== undefined) return check(`ssh://${user}@${host}/${path}`)
  if (!/^(?:https|ssh):\/\//i.test(given)) {
    throw refused('must begin with https:// or ssh://, or be of the form git@host:path')
  }
  return check(given)
}

function check(text: string): Address {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || url.pathname.length < 2) throw refused('is not the address of a repository')
  const transport = url.protocol === 'https:' ? 'https' : 'ssh'
  if (url.password !== '' || (transport === 'https' && url.username !== '')) {
    throw refused('must not contain a user name, password or token: set them as `username` and `token`')
  }
  if (url.search !== '' || url.hash !== '') throw refused('must not have a query or a fragment')
  const user = transport === 'ssh' ? decode(url.username) || 'git' : ''
  const path = url.pathname.replace(/\/+$/, '')
  const isSafe =
    HOST.test(url.hostname) &&
    PATH.test(path) &&
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    !/[\x00-\x20\x7f]/.test(decode(path))
  if (!isSafe || (user !== '' && !USER.test(user))) throw refused('is not the address of a repository')
  const port = url.port === '' || (transport === 'ssh' && url.port === '22') ? '' : `:${url.port}`
  const host = url.hostname.toLowerCase()
  const whole = `${transport}://${user === '' ? '' : `${user}@`}${host}${port}${path}`
  if (whole.length > LIMITS.repositoryUrlLength) throw refused('is too long')
  return { url: whole, transport, host: `${host}${port}` }
}

/** The rules of `git check-ref-format`, and nothing that begins with a dash. */
export function checkBranch(branch: string): string {
  const isRight =
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    !/[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\/$|^\/|\.$/.test(branch) &&
    !branch.startsWith('-') &&
    branch !== '@' &&
    branch.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'))
  if (!isRight) throw fieldInvalid('branch', 'is not a name that git has for branches')
  return branch
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refused('is not the address of a repository')
  }
}

const refused = (why: string) => fieldInvalid('url', why)
