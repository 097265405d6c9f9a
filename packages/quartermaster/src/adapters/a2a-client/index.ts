export { type A2aClient, createA2aClient } from './a2a-client.ts'
