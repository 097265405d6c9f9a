export { toolPage } from './tool-page.ts'
