#!/usr/bin/env node
// Deploys from CI: to production on the default branch, and to a preview everywhere else; writes the address of the preview
// under the pull or merge request, in one comment that later runs change. Runs the command line of the package that it is a
// part of. All settings come from the environment; docs/guides/ci.md names them.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { commentText, writeComment } from './comment.js'
import { findHost } from './hosts.js'

const CLI = join(import.meta.dirname, '..', '..', 'bin', 'headland.js')
const EXIT = { done: 0, wrongUse: 2 }

process.exitCode = await main(process.env)

async function main(env) {
  const host = findHost(env)
  const { why, run } = host.what()
  if (!run) {
    host.notice(why)
    return EXIT.done
  }
  const missing = ['HEADLAND_URL', 'HEADLAND_API_USER', 'HEADLAND_API_PASSWORD'].filter((name) => !env[name])
  if (missing.length > 0) {
    host.error(`${missing.join(', ')} must be set, as secrets of the CI.`)
    return EXIT.wrongUse
  }
  const result = await deploy(env, host, run)
  host.outputs({ url: result.url, environment: result.environment })
  if (result.url) host.notice(`Live at ${result.url}`)
  else host.error(result.reason ? `${result.reason}: ${result.message}` : result.message)
  await comment(env, host, { ...result, run })
  return result.code
}

/** Runs the command, prints the log of the build, and keeps what it ends with. */
async function deploy(env, host, { preview }) {
  const { app, environment, folder } = settingsIn(env)
  const args = ['deploy', '--json', '--cancel-on-interrupt']
  if (preview !== undefined) args.push(`--preview=${preview}`)
  else if (environment) args.push(`--env=${environment}`)
  if (app) args.push(`--app=${app}`)
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: folder || process.cwd(),
    // Tokens of the CI are not for this command.
    env: { ...env, GITHUB_TOKEN: '', HEADLAND_GITLAB_TOKEN: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  const closed = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 3))
  })
  const result = { url: '', environment: '', reason: '', message: 'The deploy ended without a result.' }
  const print = host.openLog()
  for await (const line of createInterface({ input: child.stdout })) take(eventIn(line), result, print)
  const code = await closed
  host.closeLog()
  // A build that is held or was superseded has an address, and is not what the address shows.
  return code === EXIT.done ? { ...result, code } : { ...result, url: '', code }
}

function eventIn(line) {
  try {
    return JSON.parse(line)
  } catch {
    return { event: 'line', text: line }
  }
}

function take(event, result, print) {
  const text = (value) => (typeof value === 'string' ? value : '')
  if (event.event === 'line') print(text(event.text))
  if (event.event === 'note') print(text(event.message))
  if (event.operation) result.environment = text(event.operation).replace(/\/operations\/.*$/s, '')
  if (event.event === 'done') result.url = text(event.url)
  if (['failed', 'held', 'cancelled'].includes(event.event)) {
    result.reason = text(event.reason) || event.event.toUpperCase()
    result.message = text(event.message)
  }
}

/** A comment that cannot be written does not make a deploy fail. */
async function comment(env, host, { run, ...result }) {
  const { app, isCommenting } = settingsIn(env)
  if (run.preview === undefined || !isCommenting) return
  const api = host.comments()
  if (!api) return
  const marker = `<!-- headland preview ${Buffer.from(`${app}/${run.preview}`).toString('base64url')} -->`
  try {
    await writeComment(api, marker, commentText({ ...result, ...run, marker, app }))
  } catch (error) {
    host.warning(`The comment was not written: ${error.message}`)
  }
}

function settingsIn(env) {
  return {
    app: env.HEADLAND_CI_APP ?? '',
    environment: env.HEADLAND_CI_ENVIRONMENT ?? '',
    folder: env.HEADLAND_CI_FOLDER ?? '',
    isCommenting: env.HEADLAND_CI_COMMENT !== 'false',
  }
}
