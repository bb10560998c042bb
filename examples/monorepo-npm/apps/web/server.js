import { greet } from '@example/greeting'
import express from 'express'

const app = express()

app.get('/', (_request, response) => response.send(`<h1>${greet('an npm workspace')}</h1>`))
app.get('/api/hello', (_request, response) => response.json({ greeting: greet('the API') }))
app.use((_request, response) => response.status(404).send('<h1>No such page here</h1>'))

const server = app.listen(Number(process.env.PORT ?? 3000), process.env.HOST)
process.on('SIGTERM', () => server.close())
