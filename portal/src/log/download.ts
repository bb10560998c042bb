/** The whole log as a file. Asked for by script, so that a refusal is shown here and not as a page of its own. */
import { ask } from '../api/client.ts'

export async function downloadLog(address: string, fileName: string): Promise<void> {
  const response = await ask(address, { headers: { accept: 'text/plain' } })
  const url = URL.createObjectURL(await response.blob())
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
  // The browser has taken it by then, or never will.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
