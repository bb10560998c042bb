import express from 'express'

const greeting = process.env.GREETING ?? 'Hello'
const app = express()

app.get('/', (_request, response) => response.send(`<h1>${greeting} from Express, installed by Yarn 4</h1>`))
app.get('/api/hello', (_request, response) => response.json({ greeting }))
app.use((_request, response) => response.status(404).send('<h1>No such page here</h1>'))

const server = app.listen(Number(process.env.PORT ?? 3000), process.env.HOST)
process.on('SIGTERM', () => server.close())
