// What differs between GitHub Actions, GitLab CI and a plain shell: what is built, where results and comments go.
import { randomUUID } from 'node:crypto'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'

const FORK =
  'This comes from a fork. Its code is not deployed: it would get the credentials of this repository. Push the branch here to see it.'

export function findHost(env) {
  if (env.GITHUB_ACTIONS === 'true') return github(env)
  return env.GITLAB_CI === 'true' ? gitlab(env) : shell(env)
}

const print = (line) => process.stdout.write(`${line}\n`)

function shell(env) {
  return {
    what: () => ({ run: { preview: env.HEADLAND_CI_PREVIEW || undefined, commit: '' } }),
    notice: print,
    warning: print,
    error: (text) => process.stderr.write(`${text}\n`),
    openLog: () => print,
    closeLog: () => undefined,
    outputs: () => undefined,
    comments: () => undefined,
  }
}

function github(env) {
  const event = env.GITHUB_EVENT_PATH ? JSON.parse(readFileSync(env.GITHUB_EVENT_PATH, 'utf8')) : {}
  const request = event.pull_request
  const resume = randomUUID()
  const command = (name) => (text) => print(`::${name}::${escaped(text)}`)
  return {
    what() {
      const logUrl = `${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}/actions/runs/${env.GITHUB_RUN_ID}`
      if (env.GITHUB_EVENT_NAME === 'pull_request_target')
        return { why: 'pull_request_target gives secrets to code of strangers. Use the event pull_request.' }
      if (request && request.head?.repo?.full_name !== event.repository?.full_name) return { why: FORK }
      if (request?.state === 'closed') return { why: 'The pull request is closed.' }
      if (env.GITHUB_REF_TYPE === 'tag') return { why: 'Tags are not deployed.' }
      const branch = request ? env.GITHUB_HEAD_REF : env.GITHUB_REF_NAME
      const main = event.repository?.default_branch
      // Runs by the clock are of the default branch, and their event may not name it.
      const isDefault = !request && (env.GITHUB_EVENT_NAME === 'schedule' || branch === main)
      if (!request && !isDefault && !main) return { why: 'The event does not name the default branch.' }
      // Of a pull request, GITHUB_SHA is a merge that is on no branch.
      const commit = request?.head?.sha ?? env.GITHUB_SHA ?? ''
      return { run: { preview: previewOf(env, isDefault, branch), commit, logUrl } }
    },
    notice: command('notice'),
    warning: command('warning'),
    error: command('error'),
    // Lines of a build must not be read as commands to the runner.
    openLog() {
      print('::group::Build')
      print(`::stop-commands::${resume}`)
      return print
    },
    closeLog() {
      print(`::${resume}::`)
      print('::endgroup::')
    },
    outputs(values) {
      if (!env.GITHUB_OUTPUT) return
      for (const [name, value] of Object.entries(values)) {
        const end = randomUUID()
        appendFileSync(env.GITHUB_OUTPUT, `${name}<<${end}\n${value}\n${end}\n`)
      }
    },
    comments() {
      if (!request || !env.GITHUB_TOKEN) return undefined
      const base = `${env.GITHUB_API_URL}/repos/${env.GITHUB_REPOSITORY}/issues`
      const headers = {
        accept: 'application/vnd.github+json',
        authorization: `Bearer ${env.GITHUB_TOKEN}`,
        'user-agent': 'headland',
        'x-github-api-version': '2022-11-28',
      }
      const all = `${base}/${request.number}/comments`
      return {
        list: (page, size) => ({ method: 'GET', url: `${all}?per_page=${size}&page=${page}`, headers }),
        create: (body) => ({ method: 'POST', url: all, headers, body: { body } }),
        changeOf: (id, body) => ({ method: 'PATCH', url: `${base}/comments/${id}`, headers, body: { body } }),
      }
    },
  }
}

/** As the runner reads the text of a command. */
const escaped = (text) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

function gitlab(env) {
  const request = env.CI_MERGE_REQUEST_IID
  return {
    ...shell(env),
    what() {
      const isFork = request && env.CI_MERGE_REQUEST_SOURCE_PROJECT_PATH !== env.CI_MERGE_REQUEST_PROJECT_PATH
      if (isFork) return { why: FORK }
      if (env.CI_COMMIT_TAG) return { why: 'Tags are not deployed.' }
      const branch = request ? env.CI_MERGE_REQUEST_SOURCE_BRANCH_NAME : env.CI_COMMIT_BRANCH
      const isDefault = !request && branch === env.CI_DEFAULT_BRANCH
      const commit = env.CI_MERGE_REQUEST_SOURCE_BRANCH_SHA || env.CI_COMMIT_SHA || ''
      return { run: { preview: previewOf(env, isDefault, branch), commit, logUrl: env.CI_JOB_URL } }
    },
    // A report of variables: the next jobs have them, and the merge request links to the address.
    outputs({ url, environment }) {
      const lines = [`HEADLAND_DEPLOY_URL=${lineOf(url)}`, `HEADLAND_DEPLOY_ENVIRONMENT=${lineOf(environment)}`]
      writeFileSync(env.HEADLAND_CI_DOTENV || 'headland.env', `${lines.join('\n')}\n`)
    },
    comments() {
      // The token of a job may not write comments.
      if (!request || !env.HEADLAND_GITLAB_TOKEN) return undefined
      const notes = `${env.CI_API_V4_URL}/projects/${env.CI_PROJECT_ID}/merge_requests/${request}/notes`
      const headers = { 'private-token': env.HEADLAND_GITLAB_TOKEN, 'user-agent': 'headland' }
      return {
        list: (page, size) => ({
          method: 'GET',
          url: `${notes}?per_page=${size}&page=${page}&order_by=created_at&sort=asc`,
          headers,
        }),
        create: (body) => ({ method: 'POST', url: notes, headers, body: { body } }),
        changeOf: (id, body) => ({ method: 'PUT', url: `${notes}/${id}`, headers, body: { body } }),
      }
    },
  }
}

const lineOf = (text) => text.replace(/[\r\n].*$/s, '')

const previewOf = (env, isDefault, branch) => env.HEADLAND_CI_PREVIEW || (isDefault ? undefined : branch)
