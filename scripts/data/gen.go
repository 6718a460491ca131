//go:build ignore

// Gen draws scripts/data/picture.png: 320x240 pixels with soft and hard edges in many directions,
// for scripts that filter pictures. Run it in the root of the module:
//
//	go run scripts/data/gen.go
package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"log"
	"math"
	"os"
)

const (
	width, height = 320, 240
	samples       = 4 // per pixel and direction
	file          = "scripts/data/picture.png"
)

type rgb struct{ r, g, b float64 } // 0 to 255

func mix(a, b rgb, t float64) rgb {
	t = min(max(t, 0), 1)
	return rgb{a.r + (b.r-a.r)*t, a.g + (b.g-a.g)*t, a.b + (b.b-a.b)*t}
}

// layer covers the points of inside; a later layer lies over an earlier one.
type layer struct {
	inside func(x, y float64) bool
	colour func(x, y float64) rgb
}

func plain(r, g, b float64) func(x, y float64) rgb {
	return func(x, y float64) rgb { return rgb{r, g, b} }
}

func circle(cx, cy, radius float64) func(x, y float64) bool {
	return func(x, y float64) bool { return math.Hypot(x-cx, y-cy) < radius }
}

func box(x0, y0, x1, y1 float64) func(x, y float64) bool {
	return func(x, y float64) bool { return x >= x0 && x < x1 && y >= y0 && y < y1 }
}

// triangle has its base on the line y = bottom.
func triangle(tipX, tipY, left, right, bottom float64) func(x, y float64) bool {
	return func(x, y float64) bool {
		t := (y - tipY) / (bottom - tipY)
		return t >= 0 && t < 1 && x >= tipX+(left-tipX)*t && x < tipX+(right-tipX)*t
	}
}

// line is a straight stroke.
func line(x0, y0, x1, y1, thick float64) func(x, y float64) bool {
	dx, dy := x1-x0, y1-y0
	return func(x, y float64) bool {
		t := min(max(((x-x0)*dx+(y-y0)*dy)/(dx*dx+dy*dy), 0), 1)
		return math.Hypot(x-x0-t*dx, y-y0-t*dy) < thick/2
	}
}

func sky(x, y float64) rgb {
	top, middle, low := rgb{24, 46, 110}, rgb{120, 130, 200}, rgb{255, 196, 128}
	if t := y / 150; t < 0.55 {
		return mix(top, middle, t/0.55)
	} else {
		return mix(middle, low, (t-0.55)/0.45)
	}
}

func hill(x float64) float64 { return 158 - 10*math.Sin(x/58) - 4*math.Sin(x/23) }

// balloon has eight stripes that narrow toward its sides.
func balloon(x, y float64) rgb {
	d := math.Sqrt(max(36*36-(y-62)*(y-62), 1))
	a := math.Asin(min(max((x-92)/d, -1), 1))
	stripe := int(math.Floor(a/(math.Pi/8))) + 8
	c := rgb{228, 60, 64}
	if stripe%2 == 0 {
		c = rgb{250, 226, 120}
	}
	return mix(rgb{40, 10, 60}, c, 0.55+0.45*math.Cos(a+0.5))
}

// checker is a floor seen at a slant.
func checker(x, y float64) rgb {
	depth := 26 / (y - 168)
	u := math.Floor((x - 120) * depth / 13)
	v := math.Floor(depth * 9)
	if math.Mod(math.Abs(u+v), 2) == 0 {
		return rgb{242, 240, 230}
	}
	return rgb{38, 44, 60}
}

func bricks(x, y float64) rgb {
	row := math.Floor((y - 140) / 7)
	shift := math.Mod(row, 2) * 8
	if math.Mod(y-140, 7) < 1 || math.Mod(x-214+shift, 16) < 1 {
		return rgb{214, 190, 170}
	}
	return rgb{176, 84, 62}
}

func roof(x, y float64) rgb {
	if math.Mod(y-98, 8) < 1.2 {
		return rgb{70, 28, 44}
	}
	return rgb{122, 46, 66}
}

func scene() []layer {
	all := func(x, y float64) bool { return true }
	l := []layer{
		{all, sky},
		{circle(238, 56, 30), func(x, y float64) rgb { return mix(rgb{255, 250, 200}, sky(x, y), math.Hypot(x-238, y-56)/30-0.05) }},
		{circle(238, 56, 17), plain(255, 244, 170)},
		{triangle(48, 84, -40, 150, 170), plain(96, 84, 140)},
		{triangle(48, 84, 25, 75, 107), plain(240, 240, 250)},
		{triangle(170, 96, 80, 262, 170), plain(78, 72, 128)},
		{triangle(170, 96, 147.5, 193, 114.5), plain(232, 234, 248)},
		{func(x, y float64) bool { return y > hill(x) }, func(x, y float64) rgb { return mix(rgb{120, 178, 84}, rgb{36, 96, 60}, (y-hill(x))/80) }},
		{func(x, y float64) bool { return y >= 188 }, checker},
		// The house.
		{box(214, 140, 294, 204), bricks},
		{box(270, 96, 282, 130), plain(150, 70, 56)},
		{triangle(254, 98, 202, 306, 142), roof},
		{box(224, 160, 240, 204), plain(54, 84, 120)},
		{circle(236.5, 183, 1.5), plain(250, 220, 110)},
		{box(252, 154, 284, 182), plain(250, 250, 244)},
		{box(254, 156, 282, 180), func(x, y float64) rgb { return mix(rgb{150, 210, 240}, rgb{60, 110, 170}, (x-254+y-156)/52) }},
		{box(267, 156, 269, 180), plain(250, 250, 244)},
		{box(254, 167, 282, 169), plain(250, 250, 244)},
		{circle(254, 125, 6.5), plain(250, 250, 244)},
		{circle(254, 125, 5), plain(96, 160, 200)},
		// A tree.
		{box(25, 146, 31, 192), plain(92, 62, 44)},
		{triangle(28, 104, 8, 48, 150), plain(34, 104, 72)},
		{triangle(28, 122, 2, 54, 174), plain(44, 124, 80)},
		// The balloon.
		{line(76, 92, 86, 122, 0.9), plain(40, 30, 50)},
		{line(108, 92, 98, 122, 0.9), plain(40, 30, 50)},
		{line(92, 96, 92, 122, 0.9), plain(40, 30, 50)},
		{circle(92, 62, 36), balloon},
		{box(84, 121, 100, 132), plain(150, 100, 56)},
		{box(84, 121, 100, 123.5), plain(96, 60, 36)},
	}
	// Wires on a mast, a fence, and birds.
	l = append(l, layer{box(196, 78, 198.4, 196), plain(50, 46, 54)}, layer{box(187, 84, 208, 86), plain(50, 46, 54)})
	for i := range 3 {
		x, rise := 189+8*float64(i), 12+7*float64(2-i)
		l = append(l, layer{func(px, py float64) bool {
			t := (px - x) / (320 - x)
			return t >= 0 && math.Abs(py-(85-rise*t+24*t*(1-t))) < 0.5
		}, plain(40, 38, 50)})
	}
	for x := 64.0; x < 184; x += 10 {
		l = append(l, layer{box(x, 168, x+2.5, 190), plain(236, 232, 220)})
	}
	l = append(l, layer{line(60, 174, 186, 174, 1.4), plain(236, 232, 220)}, layer{line(60, 182, 186, 182, 1.4), plain(236, 232, 220)})
	for _, b := range [][3]float64{{150, 40, 7}, {168, 52, 5}, {150, 62, 4}} {
		l = append(l,
			layer{line(b[0]-b[2], b[1]-b[2]*0.6, b[0], b[1], 1.2), plain(20, 20, 40)},
			layer{line(b[0], b[1], b[0]+b[2], b[1]-b[2]*0.6, 1.2), plain(20, 20, 40)})
	}
	return l
}

func main() {
	log.SetFlags(0)
	layers := scene()
	at := func(x, y float64) rgb {
		for i := len(layers) - 1; ; i-- {
			if layers[i].inside(x, y) {
				return layers[i].colour(x, y)
			}
		}
	}
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			var sum rgb
			for s := range samples * samples {
				c := at(float64(x)+(float64(s%samples)+0.5)/samples, float64(y)+(float64(s/samples)+0.5)/samples)
				sum = rgb{sum.r + c.r, sum.g + c.g, sum.b + c.b}
			}
			const n = samples * samples
			m.Set(x, y, color.RGBA{uint8(sum.r/n + 0.5), uint8(sum.g/n + 0.5), uint8(sum.b/n + 0.5), 255})
		}
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, m); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
	log.Printf("%s: %d B", file, b.Len())
}
