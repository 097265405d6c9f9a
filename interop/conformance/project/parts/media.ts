import media from './media.json' with { type: 'json' }

/** A red pixel as PNG, and a WAV file without a sound in it. */
export const { PIXEL, SILENCE } = media
