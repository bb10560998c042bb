/** Settings → Repository: the repository elsewhere that the environment follows. */
import { useState } from 'react'
import { Link } from 'wouter'
import { call } from '../../api/client.ts'
import { useAction, useResource } from '../../api/data.ts'
import type { Environment, IssuedRepository, Repository } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { useConfirm } from '../../components/controls/confirm.tsx'
import { CopyButton } from '../../components/controls/copy.tsx'
import { Pill } from '../../components/facts/pill.tsx'
import { Time } from '../../components/facts/time.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { environmentPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import { Change } from './change.tsx'
import { Connect } from './connect.tsx'
import { Hook } from './hook.tsx'
import css from './page.module.css'
import { pollingInWords, providerInWords } from './words.ts'

export default function RepositoryPage({ place }: EnvironmentPageProps) {
  const session = useSession()
  const path = `${place.name}/repository`
  const { data: environment } = useResource<Environment>(place.name)
  const canWrite = session.canWrite && environment?.state !== 'DELETING'
  const { data, problem, refresh } = useResource<Repository>(path)
  const isNone = problem?.reason === 'REPOSITORY_NOT_FOUND'
  const repository = isNone ? undefined : data
  const [isConnecting, setConnecting] = useState(false)
  const [isChanging, setChanging] = useState(false)
  const [secret, setSecret] = useState<string>()
  const { fetch, disconnect, regenerate } = useChanges(path, { refresh, onSecret: setSecret })
  const connect = (
    <Button kind="primary" icon="plus" onClick={() => setConnecting(true)}>
      Connect a repository
    </Button>
  )

  function connected({ hookSecret }: IssuedRepository) {
    setSecret(hookSecret)
    setConnecting(false)
    refresh()
  }

  return (
    <Page title="Repository">
      <p className={css.hint}>
        A branch of a repository elsewhere is fetched and deployed after each push. What came is among the{' '}
        <Link href={environmentPath(place, 'triggers')}>triggers</Link>. <a href="/docs/guides/repositories">Guide</a>
      </p>
      {!isNone && <ProblemNote problem={problem} onRetry={refresh} />}
      <ProblemNote problem={fetch.problem} />
      {isNone && (
        <Empty title="No repository is connected" action={canWrite && connect}>
          Connect one of GitHub, GitLab, Gitea, Forgejo, Bitbucket or any git server, and each push goes live here.
        </Empty>
      )}
      {!isNone && !repository && !problem && <SkeletonRows count={4} />}
      {repository && (
        <>
          <Panel
            title="Connected"
            actions={
              canWrite && (
                <>
                  <Button small kind="primary" busy={fetch.isBusy} onClick={() => fetch.run()}>
                    Deploy now
                  </Button>
                  <Button small onClick={() => setChanging(true)}>
                    Change
                  </Button>
                  <Button small kind="danger" onClick={() => disconnect(repository)}>
                    Disconnect
                  </Button>
                </>
              )
            }
          >
            <State repository={repository} />
          </Panel>
          <Hook repository={repository} secret={secret} canWrite={canWrite} onRegenerate={regenerate} />
        </>
      )}
      {isChanging && repository && (
        <Change place={place} path={path} repository={repository} onClose={() => setChanging(false)} />
      )}
      {isConnecting && (
        <Connect place={place} path={path} onClose={() => setConnecting(false)} onConnected={connected} />
      )}
    </Page>
  )
}

function State({ repository }: { repository: Repository }) {
  const { url, branch, publicKey, problem, statusProblem, lastCommit, lastFetchTime, fetching } = repository
  return (
    <div className={css.stack}>
      {problem && <Trouble title="The last fetch failed" problem={problem} />}
      {statusProblem && <Trouble title="The provider was not told" problem={statusProblem} />}
      <Facts>
        <Fact name="Address">
          <code>{url}</code>
        </Fact>
        <Fact name="Branch">
          <code>{branch}</code>
        </Fact>
        <Fact name="Provider">{providerInWords(repository)}</Fact>
        <Fact name="Last commit">
          {lastCommit ? <code title={lastCommit}>{lastCommit.slice(0, 7)}</code> : 'None yet'}
        </Fact>
        <Fact name="Last looked at">
          {fetching ? <Pill tone="busy">Fetching</Pill> : lastFetchTime ? <Time at={lastFetchTime} /> : 'Not yet'}
        </Fact>
        <Fact name="Looks by itself">{pollingInWords(repository.pollMinutes)}</Fact>
        <Fact name="Token">{repository.hasToken ? 'Stored' : 'None'}</Fact>
        {publicKey && (
          <Fact name="Deploy key">
            <span className={css.value}>
              <code>{publicKey}</code>
              <CopyButton text={publicKey} what="the public key" />
            </span>
          </Fact>
        )}
      </Facts>
      {publicKey && !lastCommit && (
        <p className={css.hint}>Add the deploy key to the repository, with the right to read, and press Deploy now.</p>
      )}
    </div>
  )
}

function Trouble({ title, problem }: { title: string; problem: NonNullable<Repository['problem']> }) {
  return (
    <div role="status">
      <strong>{title}</strong> <Pill tone="bad">{problem.reason}</Pill> <Time at={problem.time} />
      <p className={css.hint}>{problem.message}</p>
    </div>
  )
}

type Changes = { refresh(): void; onSecret(secret: string | undefined): void }

function useChanges(path: string, { refresh, onSecret }: Changes) {
  const say = useToast()
  const confirm = useConfirm()
  const fetch = useAction(
    async () => {
      await call(`/v1/${path}:fetch`, { method: 'POST' })
      say('The branch is being fetched.')
    },
    { refreshes: [path] },
  )
  const disconnect = ({ url }: Repository) =>
    confirm({
      title: 'Disconnect the repository?',
      stops: [`Pushes to ${url} are not deployed any more. What is live stays.`],
      label: 'Disconnect',
      async run() {
        await call(`/v1/${path}`, { method: 'DELETE' })
        onSecret(undefined)
        refresh()
        say('The repository is disconnected.')
      },
    })
  const regenerate = () =>
    confirm({
      title: 'Make a new secret for the hook?',
      stops: ['Calls with the old secret are refused at once, until the provider has the new one.'],
      label: 'New secret',
      async run() {
        const made = await call<IssuedRepository>(`/v1/${path}:regenerate`, { method: 'POST' })
        onSecret(made.hookSecret)
        say('The hook has a new secret.')
      },
    })
  return { fetch, disconnect, regenerate }
}
