/**
 * Uploads what was dropped. States: `idle`; `reading`, `zipping` and `sending`, each with its progress; in between, a
 * question if there are local settings among the files; `failed`, with the reason. After the upload, the operation
 * appears on the page by itself.
 */
import { useRef, useState } from 'react'
import { useAction } from '../../api/data.ts'
import type { Problem } from '../../api/problem.ts'
import type { Operation } from '../../api/types.ts'
import { uploadArchive } from '../../api/upload.ts'
import { isArchive } from '../../zip/choose.ts'
import type { Chosen, LeftOut, Selection, TreeEntry } from '../../zip/select.ts'

export type Progress =
  | { step: 'reading'; entries: number }
  | { step: 'zipping' | 'sending'; share: number; what: string; bytes: number; leftOut: LeftOut }

/** Whether to send files with local settings, too. */
export type Question = { localSettings: readonly Chosen[]; answer(areSent: boolean): void }

export type Deploy = {
  progress: Progress | undefined
  question: Question | undefined
  problem: Problem | undefined
  start(entries: readonly TreeEntry[], message: string): Promise<{ operation: Operation; leftOut: LeftOut } | undefined>
  cancel(): void
}

const NOTHING: LeftOut = { names: [], count: 0 }

export function useDeploy(environment: string): Deploy {
  const [progress, setProgress] = useState<Progress>()
  const [question, setQuestion] = useState<Question>()
  const [isCancelled, setCancelled] = useState(false)
  const ending = useRef<AbortController>(undefined)

  const action = useAction(
    async ({ entries, message }: { entries: readonly TreeEntry[]; message: string }) => {
      ending.current = new AbortController()
      const { signal } = ending.current
      const [first] = entries
      const isZip = entries.length === 1 && first?.kind === 'file' && isArchive(first.name)
      const sent = isZip
        ? { archive: await first.open(), what: first.name, leftOut: NOTHING }
        : await packed(entries, signal)
      const { archive, what, leftOut } = sent
      const current = { step: 'sending', what, bytes: archive.size, leftOut } as const
      setProgress({ ...current, share: 0 })
      const operation = await uploadArchive(environment, archive, {
        signal,
        message,
        onProgress: (done, total) => setProgress({ ...current, share: done / total }),
      })
      return { operation, leftOut }
    },
    { refreshes: [environment, `${environment}/operations`, `${environment}/builds`] },
  )

  async function packed(entries: readonly TreeEntry[], signal: AbortSignal) {
    const selection = await select(entries, signal)
    const { files, leftOut } = await decide(selection, signal)
    const what = files.length === 1 ? '1 file' : `${files.length.toLocaleString('en')} files`
    const bytes = files.reduce((sum, { file }) => sum + file.size, 0)
    const current = { step: 'zipping', what, bytes, leftOut } as const
    setProgress({ ...current, share: 0 })
    const { zipFiles } = await import('../../zip/zip.ts')
    const archive = await zipFiles(files, { signal, onProgress: (share) => setProgress({ ...current, share }) })
    return { archive, what, leftOut }
  }

  /** The code is loaded when a folder is dropped for the first time; an archive is sent unchanged. */
  async function select(entries: readonly TreeEntry[], signal: AbortSignal): Promise<Selection> {
    const [{ selectFiles }, { createJudge }] = await Promise.all([
      import('../../zip/select.ts'),
      import('../../zip/judge.ts'),
    ])
    const { judge, end } = createJudge(signal)
    try {
      return await selectFiles(entries, {
        judge,
        signal,
        onProgress: (count) => setProgress({ step: 'reading', entries: count }),
      })
    } finally {
      end()
    }
  }

  /** Local settings are sent only if the user ticks the box. */
  async function decide({ files, localSettings, leftOut }: Selection, signal: AbortSignal) {
    if (localSettings.length === 0) return { files, leftOut }
    const areSent = await new Promise<boolean>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      setQuestion({ localSettings, answer: resolve })
    }).finally(() => setQuestion(undefined))
    if (areSent) return { files: [...files, ...localSettings], leftOut }
    if (files.length === 0) throw new Error('There is nothing else in it to send.')
    const names = [...localSettings.map(({ path }) => path), ...leftOut.names]
    return { files, leftOut: { names, count: leftOut.count + localSettings.length } }
  }

  return {
    progress: action.isBusy ? (progress ?? { step: 'reading', entries: 0 }) : undefined,
    question: action.isBusy ? question : undefined,
    problem: isCancelled ? undefined : action.problem,
    async start(entries, message) {
      setCancelled(false)
      setProgress(undefined)
      return action.run({ entries, message })
    },
    cancel() {
      setCancelled(true)
      ending.current?.abort(new Error('The upload was cancelled.'))
    },
  }
}
