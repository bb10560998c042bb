/** Downloads the whole log as a file. A script fetches it, so that an error is shown on this page. */
import { ask } from '../api/client.ts'

export async function downloadLog(address: string, fileName: string): Promise<void> {
  const response = await ask(address, { headers: { accept: 'text/plain' } })
  const url = URL.createObjectURL(await response.blob())
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
  // By then the browser has started the download.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
