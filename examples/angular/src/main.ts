import { bootstrapApplication } from '@angular/platform-browser'
import { App, config } from './app'

await bootstrapApplication(App, config)
