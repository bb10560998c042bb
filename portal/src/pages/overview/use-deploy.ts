/**
 * Takes what was dropped to the service. States: `idle`; `zipping` and `sending`, each with the share that is done;
 * `failed`, with why. When it is sent, the operation shows on the page by itself.
 */
import { useRef, useState } from 'react'
import { useAction } from '../../api/data.ts'
import type { Problem } from '../../api/problem.ts'
import type { Operation } from '../../api/types.ts'
import { uploadArchive } from '../../api/upload.ts'
import { isArchive } from '../../zip/choose.ts'
import type { Selection } from '../../zip/read-drop.ts'

export type Progress = { step: 'zipping' | 'sending'; share: number; what: string; bytes: number }

export type Deploy = {
  progress: Progress | undefined
  problem: Problem | undefined
  start(selection: Selection | Promise<Selection>): Promise<Operation | undefined>
  cancel(): void
}

export function useDeploy(environment: string): Deploy {
  const [progress, setProgress] = useState<Progress>()
  const [isCancelled, setCancelled] = useState(false)
  const ending = useRef<AbortController>(undefined)

  const action = useAction(
    async (selection: Selection | Promise<Selection>) => {
      ending.current = new AbortController()
      const { signal } = ending.current
      const { files } = await selection
      const [first] = files
      if (!first) throw new Error('There is no file in what you dropped.')
      const isZip = files.length === 1 && isArchive(first.path)
      const what = isZip ? first.file.name : `${files.length} files`
      const zipped = isZip ? first.file : await zip(files, signal, what)
      setProgress({ step: 'sending', share: 0, what, bytes: zipped.size })
      return uploadArchive(environment, zipped, {
        signal,
        onProgress: (sent, total) => setProgress({ step: 'sending', share: sent / total, what, bytes: zipped.size }),
      })
    },
    { refreshes: [environment, `${environment}/operations`, `${environment}/builds`] },
  )

  /** Loaded when a folder is dropped for the first time: an archive is sent as it is. */
  async function zip(files: Selection['files'], signal: AbortSignal, what: string): Promise<Blob> {
    const { zipFiles } = await import('../../zip/zip.ts')
    const bytes = files.reduce((sum, { file }) => sum + file.size, 0)
    setProgress({ step: 'zipping', share: 0, what, bytes })
    return zipFiles(files, { signal, onProgress: (share) => setProgress({ step: 'zipping', share, what, bytes }) })
  }

  return {
    progress: action.isBusy ? (progress ?? { step: 'zipping', share: 0, what: '', bytes: 0 }) : undefined,
    problem: isCancelled ? undefined : action.problem,
    async start(selection) {
      setCancelled(false)
      setProgress(undefined)
      return action.run(selection)
    },
    cancel() {
      setCancelled(true)
      ending.current?.abort(new Error('The upload was cancelled.'))
    },
  }
}
