/** The script that CI runs, on a real service: what it deploys, what it comments, and what it refuses. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { startCommentServer } from '../../support/ci/comment-server.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { TOP } from '../../support/guides.ts'
import { createApp, createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'

const service = await startService({ after })
const as = await service.login('developer')
const app = await createApp(service, as)
const body = { displayName: 'Production', branch: 'uploadable', cmsEnvironment: 'cms' }
const production = await createEnvironment(service, as, { app, body })
const top = await temporaryFolder({ after })
const forge = await startCommentServer({ token: 'c1-token', repository: 'acme/site', project: '15', request: 7 })
after(() => forge.close())

const scripts = join(TOP, 'integrations/ci')

type Ended = { code: number | null; printed: string; outputs: string }

async function run(env: Record<string, string>, files: Record<string, string>): Promise<Ended> {
  const folder = join(top, `run-${Math.random()}`)
  await mkdir(folder)
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const given = {
    ...{ PATH: process.env.PATH, HOME: top, HEADLAND_URL: service.api, HEADLAND_CI_APP: app },
    ...{ HEADLAND_API_USER: as.userId, HEADLAND_API_PASSWORD: as.password },
    ...{ GITHUB_OUTPUT: join(top, 'output'), HEADLAND_CI_DOTENV: join(top, 'output') },
  }
  await writeFile(given.GITHUB_OUTPUT, '')
  const child = spawn(process.execPath, [join(scripts, 'deploy.js')], { cwd: folder, env: { ...given, ...env } })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += chunk))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, printed, outputs: await readFile(given.GITHUB_OUTPUT, 'utf8') }
}

const SHA = 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7'
const GITHUB = {
  ...{ GITHUB_ACTIONS: 'true', GITHUB_TOKEN: 'c1-token', GITHUB_API_URL: `${forge.url}/api/v3`, GITHUB_SHA: SHA },
  ...{ GITHUB_SERVER_URL: forge.url, GITHUB_REPOSITORY: 'acme/site', GITHUB_RUN_ID: '99', GITHUB_REF_TYPE: 'branch' },
}
const repository = { full_name: 'acme/site', default_branch: 'main' }

/** The environment of a run for a pull request that comes from this repository. */
async function ofPullRequest(from = 'acme/site', name = 'pull_request') {
  const event = join(top, 'event.json')
  const head = { sha: SHA, repo: { full_name: from } }
  await writeFile(event, JSON.stringify({ repository, pull_request: { number: 7, state: 'open', head } }))
  return { ...GITHUB, GITHUB_EVENT_NAME: name, GITHUB_EVENT_PATH: event, GITHUB_HEAD_REF: 'larger-pictures' }
}

const ours = () => forge.comments.filter(({ body: text }) => text.includes('Headland'))
const GITLAB = {
  ...{ GITLAB_CI: 'true', HEADLAND_GITLAB_TOKEN: 'c1-token', CI_API_V4_URL: `${forge.url}/api/v4` },
  ...{ CI_PROJECT_ID: '15', CI_MERGE_REQUEST_IID: '7', CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: 'topic' },
  ...{ CI_MERGE_REQUEST_SOURCE_PROJECT_PATH: 'acme/site', CI_MERGE_REQUEST_PROJECT_PATH: 'acme/site' },
  ...{ CI_COMMIT_SHA: SHA, CI_JOB_URL: 'https://gitlab.example.com/acme/site/-/jobs/1', CI_DEFAULT_BRANCH: 'main' },
}

test('a push to the default branch is deployed to production, and the address is an output', async () => {
  const event = join(top, 'push.json')
  await writeFile(event, JSON.stringify({ repository }))
  const env = { ...GITHUB, GITHUB_EVENT_PATH: event, GITHUB_REF_NAME: 'main', HEADLAND_CI_ENVIRONMENT: 'Production' }
  const { code, printed, outputs } = await run(env, { 'index.html': '<p>from CI</p>' })
  assert.equal(code, 0, printed)
  assert.match(
    outputs,
    new RegExp(`^url<<(\\S+)\n${production.url}\n\\1\nenvironment<<(\\S+)\n${production.name}\n\\2\n$`),
  )
  assert.match((await siteAnswer(service, production.url)).text, /from CI/)
  // Between these marks the runner reads no commands.
  const [, mark = ''] = /^::stop-commands::(\S+)$/m.exec(printed) ?? []
  assert.match(printed, new RegExp(`::stop-commands::${mark}\n(.*\n)+::${mark}::\n::endgroup::\n::notice::Live at `))
  assert.doesNotMatch(printed, new RegExp(`${as.password}|c1-token`))
  assert.deepEqual(ours(), [])
})

test('a pull request gets a preview and one comment, which later runs change, also when they fail', async () => {
  const env = await ofPullRequest()
  const first = await run(env, { 'index.html': '<p>larger</p>' })
  assert.equal(first.code, 0, first.printed)
  const [, url = ''] = /^url<<\S+\n(\S+)$/m.exec(first.outputs) ?? []
  assert.notEqual(url, production.url)
  assert.match((await siteAnswer(service, url)).text, /larger/)
  assert.match(ours()[0]?.body ?? '', new RegExp(`\` larger-pictures \` of da156088 is live: ${url} `))

  const second = await run(env, { 'notes.txt': '::add-mask::e' })
  assert.equal(second.code, 1, second.printed)
  assert.match(second.printed, /^::error::[A-Z_]+: /m)
  assert.match(second.outputs, /^url<<\S+\n\n/)
  assert.equal(ours().length, 1)
  assert.match(ours()[0]?.body ?? '', /was not deployed .*\n\n```text\n[A-Z_]+: /s)
  assert.deepEqual(forge.refused, [])
})

test('a fork gets nothing, nor does an event that would give it secrets', async () => {
  const before = structuredClone(forge.comments)
  const fork = await run(await ofPullRequest('mallory/site'), { 'index.html': 'x' })
  assert.deepEqual([fork.code, fork.outputs], [0, ''])
  assert.match(fork.printed, /^::notice::This comes from a fork/)
  const target = await run(await ofPullRequest('acme/site', 'pull_request_target'), { 'index.html': 'x' })
  assert.match(target.printed, /^::notice::pull_request_target gives secrets/)
  const ofGitLab = { ...GITLAB, CI_MERGE_REQUEST_SOURCE_PROJECT_PATH: 'mallory/site' }
  assert.match((await run(ofGitLab, { 'index.html': 'x' })).printed, /^This comes from a fork/)
  assert.deepEqual(forge.comments, before)
})

test('a merge request of GitLab gets the same, with the address as a variable', async () => {
  const { code, printed, outputs } = await run(GITLAB, { 'index.html': '<p>from GitLab</p>' })
  assert.equal(code, 0, printed)
  const [, url = ''] = /^HEADLAND_DEPLOY_URL=(\S+)$/m.exec(outputs) ?? []
  assert.match((await siteAnswer(service, url)).text, /from GitLab/)
  assert.equal(ours().length, 2)
  assert.match(ours()[1]?.body ?? '', new RegExp(`topic .* is live: ${url} \\(\\[log\\]`))
  assert.deepEqual(forge.refused, [])
})

test('without credentials it ends as wrong use, and a comment that is refused fails no deploy', async () => {
  const without = await run({ ...GITLAB, HEADLAND_API_PASSWORD: '' }, { 'index.html': 'x' })
  assert.deepEqual([without.code, /HEADLAND_API_PASSWORD must be set/.test(without.printed)], [2, true])
  const refused = await run({ ...GITLAB, HEADLAND_GITLAB_TOKEN: 'wrong' }, { 'index.html': '<p>again</p>' })
  assert.equal(refused.code, 0, refused.printed)
  assert.match(refused.printed, /The comment was not written: HTTP 401/)
})

test('the action and the template are YAML that runs this script, and put no input into a shell', async () => {
  const action = parse(await readFile(join(TOP, 'integrations/github-action/action.yml'), 'utf8'))
  assert.deepEqual(Object.keys(action.inputs), ['package', 'app', 'environment', 'preview', 'folder', 'comment'])
  assert.deepEqual(Object.keys(action.outputs), ['url', 'environment'])
  assert.equal(action.runs.using, 'composite')
  const template = parse(await readFile(join(TOP, 'integrations/gitlab-ci/headland.yml'), 'utf8'))
  const job = template['headland-deploy']
  assert.equal(job.artifacts.reports.dotenv, 'headland.env')
  const commands: string[] = [...action.runs.steps.map(({ run: command }: { run: string }) => command), ...job.script]
  assert.equal(commands.filter((command) => command.includes('/headland/integrations/ci/deploy.js"')).length, 2)
  for (const command of commands) assert.doesNotMatch(command, /\$\{\{/)
  // Every setting of the two is one that the script reads.
  const code = await Promise.all(['deploy.js', 'hosts.js'].map((name) => readFile(join(scripts, name), 'utf8')))
  const named = [...JSON.stringify([action, template]).matchAll(/HEADLAND_CI_(?!PACKAGE)\w+/g)].map(([name]) => name)
  for (const name of named) assert.ok(code.join().includes(name), name)
})
