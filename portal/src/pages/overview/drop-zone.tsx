/**
 * Where an archive or a folder is dropped or chosen, with the progress of the upload. The whole page accepts a drop.
 */
import { type ChangeEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { useResource } from '../../api/data.ts'
import { at, headland } from '../../api/headland.ts'
import { MESSAGE_MAX_LENGTH, type Place } from '../../api/names.ts'
import type { Operation } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Curl } from '../../components/controls/curl.tsx'
import { TextField } from '../../components/controls/field.tsx'
import { bytes } from '../../components/facts/format.ts'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import type { TreeEntry } from '../../zip/select.ts'
import { entriesOfDrop, entriesOfField } from '../../zip/tree.ts'
import css from './drop-zone.module.css'
import { inWords } from './left-out.ts'
import { LocalSettings } from './local-settings.tsx'
import { type Deploy, type Progress, useDeploy } from './use-deploy.ts'

type Props = { place: Place /** The environment, as people call it. */; name: string; children?: ReactNode }

export function DropZone({ place, name, children }: Props) {
  const deploy = useDeploy(place.name)
  const say = useToast()
  const [message, setMessage] = useState('')
  const [sent, setSent] = useState<{ operation: string; without: string; remove(): void }>()
  const { data: operation } = useResource<Operation>(sent?.operation ?? '', { enabled: sent !== undefined })
  const isOver = usePageDrop(!deploy.progress, (entries) => begin(entries))

  async function begin(entries: readonly TreeEntry[]) {
    const done = await deploy.start(entries, message.trim())
    if (!done) return
    setMessage('')
    const without = inWords(done.leftOut)
    const remove = say('Sent. It is being built.')
    setSent({ operation: done.operation.name, without, remove })
  }

  // The build has ended, so the message that it is being built is removed.
  useEffect(() => {
    if (sent && operation?.done) sent.remove()
  }, [sent, operation?.done])

  return (
    <div className={css.zone} data-over={isOver || undefined}>
      {deploy.question ? (
        <LocalSettings question={deploy.question} onCancel={deploy.cancel} />
      ) : deploy.progress ? (
        <Sending progress={deploy.progress} onCancel={deploy.cancel} />
      ) : (
        <>
          <Chooser onChosen={begin}>{children}</Chooser>
          <TextField
            label="Message"
            name="message"
            value={message}
            maxLength={MESSAGE_MAX_LENGTH}
            placeholder="What is new, in one line"
            problem={deploy.problem}
            onChange={(event) => setMessage(event.target.value)}
          />
        </>
      )}
      <ProblemNote problem={deploy.problem} title="It was not deployed" />
      {sent?.without && !deploy.progress && (
        <p className={css.without} role="status">
          Left out of the last upload: {sent.without}
        </p>
      )}
      <Curl
        command={headland(['deploy'], at(place, name))}
        method="POST"
        path={`/fu/v1/${place.name}:upload`}
        file={{ field: 'repository', name: 'app.zip' }}
      />
      {isOver && (
        <div className={css.curtain}>
          <p className={css.invitation}>
            <Icon name="upload" size={24} />
            Drop it to deploy to {name}
          </p>
        </div>
      )}
    </div>
  )
}

function Chooser({ children, onChosen }: { children: ReactNode; onChosen(entries: readonly TreeEntry[]): void }) {
  const [archive, folder] = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)]
  const id = useId()

  function take(event: ChangeEvent<HTMLInputElement>) {
    const { files } = event.target
    if (files && files.length > 0) onChosen(entriesOfField(files))
    // Choosing the same file again must fire a change event.
    event.target.value = ''
  }

  return (
    <div className={css.chooser}>
      <Icon name="upload" size={24} className={css.sign} />
      <div className={css.words}>
        {children}
        <p className={css.hint}>
          Drop a zip or a folder anywhere on this page. Of a folder, <code>node_modules</code>, <code>.git</code>, what{' '}
          <code>.gitignore</code> and <code>.headlandignore</code> name, and local settings such as <code>.env</code>{' '}
          are left out. A zip is sent as it is.
        </p>
      </div>
      <div className={css.buttons}>
        <Button kind="primary" onClick={() => archive.current?.click()}>
          Choose a zip
        </Button>
        <Button icon="folder" onClick={() => folder.current?.click()}>
          Choose a folder
        </Button>
        <input
          ref={archive}
          id={`${id}-zip`}
          type="file"
          accept=".zip,application/zip"
          hidden
          aria-label="Zip"
          onChange={take}
        />
        <input
          ref={(element) => {
            // React has no type for this attribute; every browser supports it.
            element?.setAttribute('webkitdirectory', '')
            folder.current = element
          }}
          id={`${id}-folder`}
          type="file"
          hidden
          aria-label="Folder"
          onChange={take}
        />
      </div>
    </div>
  )
}

function Sending({ progress, onCancel }: { progress: Progress; onCancel: Deploy['cancel'] }) {
  const words = inProgress(progress)
  const isReading = progress.step === 'reading'
  const without = isReading ? '' : inWords(progress.leftOut)
  return (
    <div className={css.sending}>
      <p className={css.line}>
        <span>{words}</span>
        <span className={css.figures}>
          {isReading
            ? `${progress.entries.toLocaleString('en')} read`
            : `${Math.floor(progress.share * 100)} % of ${bytes(progress.bytes)}`}
        </span>
      </p>
      <progress className={css.progress} value={isReading ? undefined : progress.share} max={1} aria-label={words} />
      <Button small onClick={onCancel}>
        Cancel
      </Button>
      {without && <p className={css.without}>Left out: {without}</p>}
    </div>
  )
}

function inProgress(progress: Progress): string {
  if (progress.step === 'reading') return 'Reading the folder'
  const { step, share, what } = progress
  if (step === 'zipping') return `Zipping ${what}`
  return share >= 1 ? `Checking ${what}` : `Sending ${what}`
}

/** True while files are dragged over the page; calls back with what is dropped. */
function usePageDrop(isOpen: boolean, onDrop: (entries: readonly TreeEntry[]) => void): boolean {
  const [isOver, setOver] = useState(false)
  const handler = useRef(onDrop)
  handler.current = onDrop

  useEffect(() => {
    if (!isOpen) return
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false
    // Entering a child element fires `dragleave` on its parent: the drag is over when every entered element was left.
    let depth = 0
    const onEnter = (event: DragEvent) => {
      if (!hasFiles(event)) return
      depth++
      setOver(true)
    }
    const onLeave = (event: DragEvent) => {
      if (!hasFiles(event)) return
      depth--
      if (depth <= 0) setOver(false)
    }
    // Without this the browser would open the file instead of the page.
    const onOverPage = (event: DragEvent) => hasFiles(event) && event.preventDefault()
    const onDropped = (event: DragEvent) => {
      if (!hasFiles(event) || !event.dataTransfer) return
      event.preventDefault()
      depth = 0
      setOver(false)
      handler.current(entriesOfDrop(event.dataTransfer.items))
    }
    document.addEventListener('dragenter', onEnter)
    document.addEventListener('dragleave', onLeave)
    document.addEventListener('dragover', onOverPage)
    document.addEventListener('drop', onDropped)
    return () => {
      document.removeEventListener('dragenter', onEnter)
      document.removeEventListener('dragleave', onLeave)
      document.removeEventListener('dragover', onOverPage)
      document.removeEventListener('drop', onDropped)
    }
  }, [isOpen])

  return isOver
}
