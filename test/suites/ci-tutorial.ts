/**
 * docs/tutorials/ci.md, followed with the package: its commands on a developer's machine, its workflows and its pipeline on
 * a machine of the CI that clones the repository, and the comments that they write. Each run installs the package, which
 * takes the most time; what needs no run of a whole workflow is in e2e/cli/ci.test.ts, such as forks.
 */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startCommentServer } from '../support/ci/comment-server.ts'
import { type Machine, startMachine } from '../support/ci/machine.ts'
import { runPipeline } from '../support/ci/pipeline.ts'
import { type Event, runWorkflow } from '../support/ci/workflow.ts'
import type { Scope } from '../support/folder.ts'
import { commandsOf, readPage } from '../support/guides.ts'
import { databaseSettings } from '../support/postgres/databases.ts'
import { siteAnswer } from '../support/service/environment.ts'
import type { TestService } from '../support/service/service.ts'
import { pageOf, writeFiles } from '../support/tutorials.ts'

const PAGE = 'docs/tutorials/ci.md'
/** Where the page says that the package is. */
const PACKAGE = 'https://files.example.com/headland-0.2.0.tgz'
const [WORKFLOW, CLOSED] = ['.github/workflows/headland.yml', '.github/workflows/headland-closed.yml']
const NAME = 'acme/site'

type Place = { service: TestService; tarball: string; path: string }

export function ciTutorialSuite({ service, tarball, path }: Place) {
  describe(PAGE, () => {
    const ends: (() => unknown)[] = []
    const file: Scope = { after: (end) => void ends.unshift(end) }
    after(async () => {
      for (const end of ends) await end()
    })
    let developer: Machine
    let ci: Machine
    let project: string
    let remote: string
    let blocks: string[]
    let url: string
    let secrets: Record<string, string>
    let forge: Awaited<ReturnType<typeof startCommentServer>>

    /** Runs the blocks from one to another, each named by a command in it. */
    async function follow(first: string, last = first): Promise<string> {
      const [from, to] = [first, last].map((command) => blocks.findIndex((block) => block.includes(command)))
      assert.ok(from !== undefined && to !== undefined && from >= 0 && to >= from, `${first} … ${last}`)
      const script = blocks.slice(from, to + 1).join('\n')
      const { code, printed } = await developer.bash(script, project, {
        HEADLAND_DATA_DIR: service.dataDir,
        ...(await databaseSettings(service.dataDir)),
        ...secrets,
      })
      assert.equal(code, 0, printed)
      return printed
    }

    const ours = () => forge.comments.filter(({ body }) => body.includes('Headland'))
    const addressIn = (text: string): string => /is live: (http\S+)/.exec(text)?.[1] ?? assert.fail(text)
    const github = (machine: Machine, workflow: string, event: Event) =>
      runWorkflow(machine, workflow, event, {
        ...{ fullName: NAME, remote, apiUrl: `${forge.url}/api/v3`, token: 'c1-token' },
        secrets,
      })
    const request = (state = 'open'): Event['payload'] => ({
      repository: { full_name: NAME, default_branch: 'main' },
      pull_request: { number: 7, state, head: { repo: { full_name: NAME } } },
    })

    before(async () => {
      const text = (await readPage(PAGE)).replaceAll(PACKAGE, tarball)
      const page = pageOf(text)
      blocks = commandsOf(text)
      forge = await startCommentServer({ token: 'c1-token', repository: NAME, project: '15', request: 7 })
      file.after(() => forge.close())
      developer = await startMachine(file, path)
      ci = await startMachine(file, path)
      project = join(developer.place, 'site')
      remote = join(developer.place, 'origin.git')
      await mkdir(project)
      await writeFile(join(project, 'index.html'), '<p>First</p>\n')
      const scripts = { test: "grep -q '<p>' index.html" }
      await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'site', private: true, scripts }))
      const git = `git init -q --bare -b main ${remote}; git init -q -b main; git remote add origin ${remote}`
      assert.equal((await developer.bash(git, project)).code, 0)

      const as = await service.login()
      secrets = { HEADLAND_URL: service.api, HEADLAND_API_USER: as.userId, HEADLAND_API_PASSWORD: as.password }
      url = /^(http\S+)$/m.exec(await follow('npm install', 'headland deploy'))?.[1] ?? assert.fail('no address')
      const made = await follow('headland credentials create', 'integrations/gitlab-ci')
      const [, id = '', password = ''] = /^User id +(\S+)\nPassword +(\S+)/m.exec(made) ?? assert.fail(made)
      secrets = { HEADLAND_URL: service.api, HEADLAND_API_USER: id, HEADLAND_API_PASSWORD: password }
      const [workflow = '', closed = '', pipeline = ''] = page.blocks('yaml')
      await writeFiles(project, { [WORKFLOW]: workflow, [CLOSED]: closed, '.gitlab-ci.yml': pipeline })
      await follow('git push --quiet origin main')
    })

    test('a push to main is tested and goes live, and the build has its commit', async () => {
      const payload = { repository: { full_name: NAME, default_branch: 'main' } }
      const { code, printed } = await github(ci, WORKFLOW, { name: 'push', branch: 'main', payload })
      assert.equal(code, 0, printed)
      assert.match(printed, new RegExp(`Live at ${url}\n`))
      assert.match(printed, /<p>First<\/p>/, 'the last step asked for the front page')
      assert.match(await follow('headland builds'), /Deploy from CI/)
      assert.deepEqual(ours(), [])
    })

    test('a pull request gets an address of its own, and a comment that names it', async () => {
      await follow('git switch')
      const event: Event = { name: 'pull_request', branch: 'larger-pictures', payload: request() }
      const { code, printed } = await github(ci, WORKFLOW, event)
      assert.equal(code, 0, printed)
      const preview = addressIn(ours()[0]?.body ?? '')
      assert.match((await siteAnswer(service, preview)).text, /Larger pictures/)
      assert.doesNotMatch((await siteAnswer(service, url)).text, /Larger pictures/)
      assert.match(await follow('headland previews'), /^larger-pictures /m)
      assert.deepEqual(forge.refused, [])
    })

    test('a change that fails the tests of the project is not deployed', async () => {
      const broken = 'git switch -qc broken && : > index.html && git commit -qam Broken && git push -q origin broken'
      assert.equal((await developer.bash(broken, project)).code, 0)
      const event: Event = { name: 'pull_request', branch: 'broken', payload: request() }
      assert.notEqual((await github(ci, WORKFLOW, event)).code, 0)
      assert.doesNotMatch(await follow('headland previews'), /^broken /m)
    })

    test('a merge request of GitLab is tested, and gets its preview and its comment', async () => {
      const given = {
        ...{ ...secrets, GITLAB_CI: 'true', CI_PIPELINE_SOURCE: 'merge_request_event', CI_DEFAULT_BRANCH: 'main' },
        ...{ CI_API_V4_URL: `${forge.url}/api/v4`, CI_PROJECT_ID: '15', HEADLAND_GITLAB_TOKEN: 'c1-token' },
        ...{ CI_MERGE_REQUEST_IID: '7', CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: 'larger-pictures' },
        ...{ CI_MERGE_REQUEST_SOURCE_PROJECT_PATH: NAME, CI_MERGE_REQUEST_PROJECT_PATH: NAME },
      }
      const { code, printed, jobs } = await runPipeline(ci, remote, 'larger-pictures', given)
      assert.equal(code, 0, printed)
      assert.deepEqual(jobs, ['test', 'headland-deploy'])
      assert.match((await siteAnswer(service, addressIn(ours()[0]?.body ?? ''))).text, /Larger pictures/)
      const push = { CI_COMMIT_BRANCH: 'larger-pictures', CI_DEFAULT_BRANCH: 'main', CI_PIPELINE_SOURCE: 'push' }
      assert.deepEqual((await runPipeline(ci, remote, 'larger-pictures', push)).jobs, [])
    })

    test('the preview is deleted when its request is closed', async () => {
      const event: Event = { name: 'pull_request', branch: 'larger-pictures', payload: request('closed') }
      const { code, printed } = await github(ci, CLOSED, event)
      assert.equal(code, 0, printed)
      assert.doesNotMatch(await follow('headland previews'), /^larger-pictures /m)
    })
  })
}
