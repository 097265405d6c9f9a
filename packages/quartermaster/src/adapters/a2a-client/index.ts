export { A2A_CLIENT_LIMITS, type A2aClient, createA2aClient } from './a2a-client.ts'
