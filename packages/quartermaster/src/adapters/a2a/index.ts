export { A2A_VERSION, type A2aDeps, type A2aFront, createA2aFront } from './front.ts'
