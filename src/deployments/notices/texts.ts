/** What a notice about a build tells: pure. */
import { toRfc3339 } from '../../base/index.ts'
import type { Build } from '../../builds/index.ts'
import { names, PROBLEMS, type Problem, type resources, shortId } from '../../contract/index.ts'
import type { BuildNoticeKind } from './decide.ts'

export type BuildFacts = {
  appName: string
  /** The displayName of the environment. */
  environment: string
  build: Pick<Build, 'id' | 'archive' | 'requestedBy' | 'fromSnapshot'>
  /** Who requested what ended: for a rollback, not who requested the build. */
  requestedBy: resources.Requester | null
  trigger: resources.Trigger
  /** Undefined where it succeeded. */
  problem?: Pick<Problem, 'reason' | 'message'> | undefined
  /** Empty while the environment has no address. */
  siteUrl: string
}

export type NoticeText = { title: string; text: string }

export function buildNoticeText(kind: BuildNoticeKind, facts: BuildFacts): NoticeText {
  const place = `${facts.appName} / ${facts.environment}`
  const lines = [
    ...leadOf(kind, facts),
    ...snapshotLine(facts.build),
    ...commitLine(facts.build.archive),
    ...(facts.requestedBy ? [`Requested by: ${requesterInWords(facts.requestedBy)}`] : []),
    ...(facts.siteUrl === '' ? [] : [`Site: ${facts.siteUrl}`]),
  ]
  return { title: `${HEADINGS[kind](facts)}: ${place}`, text: lines.join('\n') }
}

const HELD: ReadonlySet<string> = new Set(['SUSPICIOUS_OUTPUT', 'CHECK_FAILED'])

const HEADINGS: Record<BuildNoticeKind, (facts: BuildFacts) => string> = {
  BUILD_FAILED: ({ problem }) => (problem && HELD.has(problem.reason) ? 'Build held' : 'Build failed'),
  BUILD_RECOVERED: () => 'Build recovered',
  BUILD_LIVE: ({ trigger }) => (trigger === 'ACTIVATE' ? 'Made live again' : 'Live'),
}

function leadOf(kind: BuildNoticeKind, { build, problem, trigger }: BuildFacts): string[] {
  const id = shortId(build.id)
  if (kind === 'BUILD_RECOVERED') return [`Build ${id} succeeded, after the one before had failed.`]
  if (kind === 'BUILD_LIVE')
    return [trigger === 'ACTIVATE' ? `The output of build ${id} is live again.` : `Build ${id} is live.`]
  if (!problem) return [`Build ${id} failed.`]
  return [`Build ${id}: ${problem.reason}`, problem.message || PROBLEMS[problem.reason].meaning]
}

const snapshotLine = ({ fromSnapshot }: Pick<Build, 'fromSnapshot'>): string[] =>
  fromSnapshot
    ? [`Content of ${toRfc3339(fromSnapshot.time)}: ${fromSnapshot.message} It is built again when the CMS is back.`]
    : []

function commitLine({ commit, message = '' }: Build['archive']): string[] {
  if (!commit) return message === '' ? [] : [`Message: ${message}`]
  const { sha, subject = '', branch = '' } = commit
  const author = 'author' in commit && typeof commit.author === 'string' ? commit.author : ''
  const words = [names.shortSha(sha), subject || message, author && `(${author})`, branch && `on ${branch}`]
  return [`Commit: ${words.filter((word) => word !== '').join(' ')}`]
}

const KINDS: Record<resources.RequesterKind, string> = {
  USER: '',
  CREDENTIAL: 'credential ',
  WEBHOOK: 'webhook ',
  SCHEDULE: 'schedule ',
  REPOSITORY: 'repository ',
  APP: 'app ',
  SERVICE: '',
}

const requesterInWords = ({ kind, name }: resources.Requester): string => `${KINDS[kind] ?? ''}${name}`
