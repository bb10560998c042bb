/**
 * The inputs of a build: the archive, the tools, the plan, the caches of earlier builds, and the hosts it contacted.
 */
import type { ReactNode } from 'react'
import { TRIGGER_WORDS } from '../../api/live/state.ts'
import type { Build } from '../../api/types.ts'
import { CopyButton } from '../../components/controls/copy.tsx'
import { bytes, counted } from '../../components/facts/format.ts'
import { By, CommitLine } from '../../components/facts/people.tsx'
import { Time } from '../../components/facts/time.tsx'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import css from './details.module.css'
import { factsOf, reasonsOf } from './plan.ts'

export function Details({ build }: { build: Build }) {
  const { trigger, clean, createTime, requestedBy, commit, archive, tools, plan, contacts, caches } = build
  return (
    <Panel title="Details">
      <Facts>
        <Fact name="Trigger">{clean ? `${TRIGGER_WORDS[trigger]}, without caches` : TRIGGER_WORDS[trigger]}</Fact>
        <Fact name="Asked for">
          <span className={css.asked}>
            <Time at={createTime} />
            {requestedBy && <span>by</span>}
            <By requester={requestedBy} />
          </span>
        </Fact>
        {commit && (
          <Fact name="Commit">
            <span className={css.asked}>
              <CommitLine commit={commit} />
              <CopyButton text={commit.sha} what="the id of the commit" />
            </span>
          </Fact>
        )}
        <Fact name="Archive">
          <ArchiveFacts archive={archive} />
        </Fact>
        <Fact name="Tools">{tools ? toolsInWords(tools) : 'none chosen'}</Fact>
      </Facts>
      {plan && (
        <Folded title="Plan">
          <Facts>
            {factsOf(plan).map(({ name, text }) => (
              <Fact key={name} name={name}>
                <code>{text}</code>
              </Fact>
            ))}
          </Facts>
          <List items={reasonsOf(plan)} />
        </Folded>
      )}
      {caches.length > 0 && (
        <Folded title={`Caches: ${caches.filter(({ state }) => state === 'HIT').length} of ${caches.length} used`}>
          <List items={caches.map(cacheInWords)} />
        </Folded>
      )}
      {contacts && (
        <Folded title={`Network: ${counted(contacts.length, 'contact')}${newInWords(contacts)}`}>
          {contacts.length === 0 ? (
            <p className={css.quiet}>It contacted no host.</p>
          ) : (
            <List items={contacts.map(contactInWords)} />
          )}
        </Folded>
      )}
    </Panel>
  )
}

function ArchiveFacts({ archive: { digest, bytes: size, files } }: Pick<Build, 'archive'>) {
  return (
    <span className={css.archive}>
      <span>
        {bytes(size)}, {counted(files, 'file')}
      </span>
      <code className={css.digest} title={digest}>
        {digest}
      </code>
      <CopyButton text={digest} what="the digest of the archive" />
    </span>
  )
}

const toolsInWords = ({ node, packageManager }: NonNullable<Build['tools']>): string =>
  [`Node ${node}`, ...(packageManager ? [packageManager] : [])].join(', ')

const CACHES = { packages: 'Installed packages', store: 'Store of the package manager', compile: 'What compilers left' }
const CACHE_STATES = { HIT: 'used', MISS: 'not there', DROPPED: 'not used' }

function cacheInWords({ cache, state, bytes: size, savedBytes }: Build['caches'][number]): string {
  const used = `${CACHES[cache]}: ${CACHE_STATES[state]}${state === 'HIT' && size > 0 ? `, ${bytes(size)}` : ''}`
  if (savedBytes === undefined) return used
  return `${used}; ${savedBytes > 0 ? `${bytes(savedBytes)} kept` : 'nothing kept'} for the next build`
}

type Contact = NonNullable<Build['contacts']>[number]

const newInWords = (contacts: readonly Contact[]): string => {
  const count = contacts.filter((each) => each.new).length
  return count > 0 ? `, ${count} new` : ''
}

/** Empty if the connection succeeded. */
const OUTCOMES: Record<NonNullable<Contact['outcome']>, string> = {
  CONNECTED: '',
  CONNECTION_REFUSED: ', refused the connection',
  NO_ANSWER: ', did not answer',
  BLOCKED: ', not allowed by the rules of this machine',
  NAME_NOT_RESOLVED: ', its name has no address',
  ASKED: '',
}

function contactInWords({ host, addresses, protocol, port, ...marks }: Contact): string {
  const where = host ?? addresses.join(', ')
  const how = `${protocol}${port === undefined ? '' : ` ${port}`}`
  return `${where} (${how})${marks.new ? ', new' : ''}${OUTCOMES[marks.outcome ?? (marks.refused ? 'BLOCKED' : 'CONNECTED')]}`
}

function List({ items }: { items: readonly string[] }) {
  return (
    <ul className={css.list}>
      {items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two contacts may read the same
        <li key={index}>{item}</li>
      ))}
    </ul>
  )
}

function Folded({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details className={css.folded}>
      <summary>{title}</summary>
      <div className={css.inside}>{children}</div>
    </details>
  )
}
