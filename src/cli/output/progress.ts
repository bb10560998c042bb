/** The line that shows how far an upload is. */
import { secondsInWords } from './figures.ts'
import { sizeOf } from './rows.ts'

const MAX_BAR = 30

export function uploadInWords(sentBytes: number, totalBytes: number, seconds: number, columns: number): string {
  const share = totalBytes === 0 ? 1 : sentBytes / totalBytes
  // All of it is on its way; the service reads it through.
  if (share >= 1) return `Uploaded ${sizeOf(totalBytes)}; it is checked …`
  const rate = seconds > 0.5 ? sentBytes / seconds : 0
  const figures = [
    `${sizeOf(sentBytes)} of ${sizeOf(totalBytes)}`,
    ...(rate > 0 ? [`${sizeOf(rate)}/s`, `${secondsInWords((totalBytes - sentBytes) / rate)} left`] : []),
  ].join('  ')
  const width = Math.min(MAX_BAR, columns - figures.length - 14)
  if (width < 5) return `Uploading  ${figures}`
  const full = Math.round(share * width)
  return `Uploading  ${'█'.repeat(full)}${'░'.repeat(width - full)}  ${figures}`
}
