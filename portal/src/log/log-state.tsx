/** Below a log: whether it is complete, being followed, or interrupted; and the download link. */
import { useAction } from '../api/data.ts'
import { Button } from '../components/controls/button.tsx'
import { counted } from '../components/facts/format.ts'
import { ProblemNote } from '../components/feedback/problem-note.tsx'
import { downloadLog } from './download.ts'
import css from './log-view.module.css'
import type { Log } from './use-log.ts'

type NoteProps = { log: Log; isFollowing: boolean; missing: number | undefined }

export function StateNote({ log: { lines, state }, isFollowing, missing }: NoteProps) {
  const dropped = lines.dropped()
  return (
    <p className={css.state}>
      <span>{counted(lines.count(), 'line')}</span>
      <span>{state === 'following' ? (isFollowing ? 'Following' : 'Paused, as you scrolled up') : WORDS[state]}</span>
      {dropped > 0 && (
        <span>The oldest {counted(dropped, 'line')} are not shown; the download has all that is kept.</span>
      )}
      {missing && (state === 'over' || state === 'following') && <span>There is no line {missing} here.</span>}
    </p>
  )
}

const WORDS = {
  reading: 'Reading',
  waiting: 'Connecting again',
  over: 'Complete',
  refused: 'Not available',
}

export function Download({ address, fileName }: { address: string; fileName: string }) {
  const download = useAction(() => downloadLog(address, fileName))
  return (
    <>
      <Button small icon="download" busy={download.isBusy} onClick={() => download.run()}>
        Download
      </Button>
      <ProblemNote problem={download.problem} />
    </>
  )
}
