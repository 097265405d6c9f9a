export {
  type Id,
  isId,
  isRecord,
  isRequest,
  isResponse,
  keyOf,
  type Message,
  messagesFrom,
  metaOf,
  type Notification,
  type Params,
  parseJson,
  parseMessage,
  parseMessages,
  type Request,
  type Response,
} from './json-rpc.ts'
export { readLines } from './line-reader.ts'
export {
  createLineSplitter,
  type Line,
  type LineEnds,
  type LineSplitter,
  type LineSplitterOptions,
} from './line-splitter.ts'
export { createLineWriter, type LineWriter } from './line-writer.ts'
export { claimedVersion, headerValue, parameterHeaders, standardHeaders } from './request-headers.ts'
