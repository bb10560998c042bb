/**
 * Runs in the sandbox of a picture, which has no network: the browser asks this program for every page, as its proxy, and this
 * program asks the service through a Unix socket. It writes the picture to stdout. Whatever a page makes of the browser or of this
 * program, nothing but that socket leads out of the sandbox, and the service decides there what is answered.
 */
import { spawn } from 'node:child_process'
import { request as ask, createServer } from 'node:http'
import { TLSSocket } from 'node:tls'

const { browser, socket, certificateProgram, url, hosts, width, height, loadMs, settleMs } = JSON.parse(
  process.argv[2] ?? '',
)

/** The end of messages to and from the browser. */
const END = '\0'

const proxy = createServer((request, response) => forward(request, response, 'http'))
const secure = createServer((request, response) => forward(request, response, 'https'))
const { makeCertificates } = await import(certificateProgram)
const { cert, key } = makeCertificates(hosts)
proxy.on('connect', (_, client, head) => {
  client.on('error', () => client.destroy())
  client.write('HTTP/1.1 200 OK\r\n\r\n')
  if (head.length > 0) client.unshift(head)
  const opened = new TLSSocket(client, { isServer: true, cert, key, ALPNProtocols: ['http/1.1'] })
  opened.on('error', () => opened.destroy())
  secure.emit('connection', opened)
})
await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve))
process.stdout.write(await shoot(proxy.address().port), () => process.exit(0))

function forward(request, response, protocol) {
  const { pathname, search } = new URL(request.url, 'http://site')
  const headers = { ...request.headers, 'x-headland-protocol': protocol }
  const { method } = request
  const onward = ask({ socketPath: socket, method, path: `${pathname}${search}`, headers, agent: false }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers)
    answer.pipe(response)
    answer.on('error', () => response.destroy())
  })
  onward.on('error', () => response.destroy())
  response.on('close', () => onward.destroy())
  request.pipe(onward)
}

/** By the protocol of the developer tools: a page that never ends to load is taken as far as it has come. */
async function shoot(port) {
  const child = spawn(
    browser,
    [
      '--headless=new',
      // The browser's own sandbox needs namespaces, which this sandbox refuses.
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-default-apps',
      '--disable-extensions',
      '--disable-sync',
      '--no-first-run',
      '--no-default-browser-check',
      '--mute-audio',
      '--hide-scrollbars',
      // The way to the site ends in the edge of this machine, which the service has checked.
      '--ignore-certificate-errors',
      `--window-size=${width},${height}`,
      '--user-data-dir=/tmp/browser',
      `--proxy-server=http://127.0.0.1:${port}`,
      // Names of this machine as well.
      '--proxy-bypass-list=<-loopback>',
      '--remote-debugging-pipe',
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'pipe'] },
  )
  child.once('error', fail)
  child.once('exit', (code, signal) => fail(new Error(`the browser ended with ${signal ?? code}`)))
  const tools = speak(child.stdio[3], child.stdio[4])
  const { targetId } = await tools.call('Target.createTarget', { url: 'about:blank' })
  const { sessionId } = await tools.call('Target.attachToTarget', { targetId, flatten: true })
  const page = (method, params) => tools.call(method, params, sessionId)
  tools.on('Page.javascriptDialogOpening', () => page('Page.handleJavaScriptDialog', { accept: false }))
  await page('Page.enable')
  await page('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false })
  const loaded = new Promise((resolve) => tools.on('Page.loadEventFired', resolve))
  const began = page('Page.navigate', { url })
  await Promise.race([began.then(() => loaded), after(loadMs)])
  await after(settleMs)
  const clip = { x: 0, y: 0, width, height, scale: 1 }
  const { data } = await page('Page.captureScreenshot', { format: 'png', clip })
  child.removeAllListeners('exit')
  return Buffer.from(data, 'base64')
}

/** Calls of the browser by its two pipes, and what it reports. */
function speak(to, from) {
  const waiting = new Map()
  const listeners = new Map()
  let last = 0
  let rest = ''
  to.on('error', () => undefined)
  from.setEncoding('utf8').on('data', (text) => {
    const messages = `${rest}${text}`.split(END)
    rest = messages.pop() ?? ''
    for (const message of messages) receive(JSON.parse(message))
  })

  function receive({ id, result, error, method }) {
    if (id === undefined) return listeners.get(method)?.()
    const { resolve, reject } = waiting.get(id) ?? {}
    waiting.delete(id)
    if (error) reject?.(new Error(error.message))
    else resolve?.(result)
  }

  return {
    call: (method, params = {}, sessionId = undefined) =>
      new Promise((resolve, reject) => {
        const id = ++last
        waiting.set(id, { resolve, reject })
        to.write(`${JSON.stringify({ id, method, params, sessionId })}${END}`)
      }),
    on: (method, listener) => void listeners.set(method, listener),
  }
}

function after(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function fail(error) {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
