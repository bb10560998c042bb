import express from 'express'

const greeting = process.env.GREETING ?? 'Hello'
const app = express()

app.disable('x-powered-by')
// The edge calls from loopback, and says in X-Forwarded-For who visits.
app.set('trust proxy', 'loopback')
app.use(express.static('public'))
app.get('/', (_request, response) => response.send(`<h1>${greeting} from Express</h1>`))
app.get('/api/hello', (_request, response) => response.json({ greeting }))
app.get('/api/visitor', (request, response) => {
  response.set('cache-control', 'private, no-store').json({ address: request.ip, peer: request.socket.remoteAddress })
})
app.use((_request, response) => response.status(404).send('<h1>No such page here</h1>'))

const server = app.listen(Number(process.env.PORT ?? 3000), process.env.HOST)
process.on('SIGTERM', () => server.close())
